//! One event, as the bytes that spell its fields.

use super::args::Args;
use crate::json::{Scan, Scanner, Value};

/// An event of the Chrome trace format. Nothing is converted yet: most events are of no concern.
#[derive(Debug, Clone, Default)]
pub(super) struct Event<'a> {
    /// `ph`: `X` complete, `B` and `E` begin and end, `i` instant; zero when absent.
    pub phase: u8,
    /// `cat`.
    pub category: Category,
    /// `name`, escapes and all.
    pub name: &'a [u8],
    /// `pid`.
    pub process: &'a [u8],
    /// `tid`.
    pub thread: &'a [u8],
    /// `ts` in microseconds; empty when absent.
    pub start: &'a [u8],
    /// `dur` in microseconds; empty when absent.
    pub duration: &'a [u8],
    /// `args`, where the category has any that matter.
    pub args: Args<'a>,
}

/// What an event is of, by its `cat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Category {
    /// No category, as other writers than Kineto leave it.
    #[default]
    Absent,
    /// An operator of the framework. In old traces annotations too.
    Operator,
    /// A kernel.
    Kernel,
    /// A copy by the driver.
    Copy,
    /// A fill by the driver.
    Fill,
    /// A call of the runtime or the driver.
    Call,
    /// A range that the user or a library named.
    Annotation,
    /// The same on the device's timeline.
    DeviceAnnotation,
    /// Waiting of a stream or of the host for the device.
    Sync,
    /// The profiler's own work.
    Overhead,
    /// A Python frame.
    Python,
    /// Anything else.
    Other,
}

impl Category {
    fn of(text: &[u8]) -> Self {
        match text {
            b"cpu_op" | b"Operator" => Self::Operator,
            b"kernel" | b"Kernel" => Self::Kernel,
            b"gpu_memcpy" | b"Memcpy" => Self::Copy,
            b"gpu_memset" | b"Memset" => Self::Fill,
            b"cuda_runtime" | b"cuda_driver" | b"Runtime" | b"xpu_runtime" | b"xpu_driver"
            | b"mtia_runtime" => Self::Call,
            b"user_annotation" => Self::Annotation,
            b"gpu_user_annotation" => Self::DeviceAnnotation,
            b"cuda_sync" => Self::Sync,
            b"overhead" => Self::Overhead,
            b"python_function" => Self::Python,
            b"" => Self::Absent,
            _ => Self::Other,
        }
    }

    /// Whether this is work of the device.
    pub fn is_device_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Fill)
    }

    /// Whether its arguments matter.
    fn has_args(self) -> bool {
        matches!(
            self,
            Self::Absent | Self::Operator | Self::Kernel | Self::Copy | Self::Fill | Self::Call | Self::Sync
        )
    }
}

impl<'a> Event<'a> {
    /// The event that begins at the scanner's opening brace.
    pub fn scan(scanner: &mut Scanner<'a>) -> Scan<Self> {
        let mut event = Self::default();
        event.scan_into(scanner)?;
        Ok(event)
    }

    /// The same without a move: an event is larger than what most of them say.
    #[inline]
    pub fn scan_into(&mut self, scanner: &mut Scanner<'a>) -> Scan<()> {
        scanner.expect(b'{', "no object where an event must be")?;
        let event = self;
        *event = Self::default();
        let mut knows_category = event.scan_usual(scanner)?;
        let mut later: &[u8] = b"";
        while let Some(key) = scanner.key()? {
            match key {
                b"ph" => {
                    event.phase = scanner.value()?.scalar().first().copied().unwrap_or(0);
                    // Flows are a third of a trace.
                    if matches!(event.phase, b's' | b't' | b'f') {
                        return scanner.leave_object();
                    }
                }
                b"cat" => {
                    event.category = Category::of(scanner.value()?.scalar());
                    knows_category = true;
                }
                b"name" => event.name = scanner.value()?.scalar(),
                b"pid" => event.process = scanner.value()?.scalar(),
                b"tid" => event.thread = scanner.value()?.scalar(),
                b"ts" => event.start = scanner.value()?.scalar(),
                b"dur" => event.duration = scanner.value()?.scalar(),
                b"args" if knows_category && event.category.has_args() => event.args.scan(scanner)?,
                // Kineto writes the category first; elsewhere the arguments wait for it, and `[memory]` has none.
                b"args" => {
                    if let Value::Nested(raw) = scanner.value()? {
                        later = raw;
                    }
                }
                _ => {
                    scanner.value()?;
                }
            }
        }
        let is_memory = event.phase == b'i' && event.name == b"[memory]";
        if !later.is_empty() && (event.category.has_args() && event.phase != b'M' || is_memory) {
            event.args.scan(&mut Scanner::new(later))?;
        }
        Ok(())
    }

    /// The fields in the order in which Kineto writes them, as far as they come so: no search for what is known to
    /// come next. Tells whether the category was among them.
    #[inline]
    fn scan_usual(&mut self, scanner: &mut Scanner<'a>) -> Scan<bool> {
        if !scanner.begins_with(br#""ph": "X", "cat": "#) {
            return Ok(false);
        }
        self.phase = b'X';
        self.category = Category::of(scanner.value()?.scalar());
        for (key, field) in [
            (&br#""name": "#[..], &mut self.name),
            (br#""pid": "#, &mut self.process),
            (br#""tid": "#, &mut self.thread),
            (br#""ts": "#, &mut self.start),
            (br#""dur": "#, &mut self.duration),
        ] {
            if !scanner.goes_on_with(key) {
                break;
            }
            *field = scanner.value()?.scalar();
        }
        Ok(true)
    }
}
