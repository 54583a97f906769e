//! XSpace protobuf, which XLA's profiler writes for JAX, TensorFlow and PyTorch/XLA: one trace a device plane with work.
//!
//! Stamps are picoseconds from a line's own instant; both ends of an event are floored to nanoseconds. One plane is in
//! memory at a time.

mod device;
mod hlo;
mod host;
mod plane;
pub(crate) mod vocabulary;
mod wire;

use std::io::{self, Read};
use std::path::Path;

use crate::reading::{Cause, FileReading, FileTraces, Format, ReadError};
use crate::trace::{Epoch, Identity, RankEvidence, TraceBuilder};
pub(crate) use device::DeviceTrace;
pub(crate) use host::{HostEvent, HostEvents};
use plane::{Plane, Stat};
use vocabulary::device_of;

/// Reads the traces of one file.
///
/// # Errors
/// When the system cannot read, or when nothing in the file is a plane. A file without device work gives a trace without
/// any, and the reading says so.
pub fn read(input: &mut dyn Read, path: &Path) -> Result<FileTraces, ReadError> {
    let mut space = Space {
        reading: FileReading::new(path, Format::XPlane),
        devices: Vec::new(),
        host: HostEvents::default(),
        hostname: None,
        start_ns: None,
        planes: 0,
    };
    space.read(input).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    if space.planes == 0 {
        let problem =
            "no XSpace protobuf: there is no plane in it. The profiler writes one as NAME.xplane.pb".into();
        return Err(ReadError::Format { path: path.to_owned(), problem });
    }
    Ok(space.finish(path))
}

/// What is read from an XSpace while it is read.
struct Space {
    reading: FileReading,
    devices: Vec<DeviceTrace>,
    host: HostEvents,
    hostname: Option<String>,
    /// Nanoseconds from 1970 to the start of the profile.
    start_ns: Option<i64>,
    planes: u64,
}

impl Space {
    /// The fields of the outermost message: 1 planes, 4 hostnames.
    fn read(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut message = Vec::new();
        loop {
            let at = self.reading.bytes;
            let (tag, length) = match (self.varint(input)?, self.varint(input)?) {
                (Some(tag), Some(length)) => (tag, length),
                (None, _) if self.reading.bytes == at => return Ok(()),
                _ => {
                    self.cut(at, "a field without its length");
                    return Ok(());
                }
            };
            // All fields of an XSpace are messages or strings.
            if tag & 7 != 2 {
                self.reading.find(Cause::BrokenEvent, at, || format!("no field of an XSpace: tag {tag}"));
                return Ok(());
            }
            message.clear();
            let read = (&mut *input).take(length).read_to_end(&mut message);
            self.reading.bytes += message.len() as u64;
            match read {
                Err(error) => self.damage(error)?,
                Ok(_) if (message.len() as u64) < length => self.cut(at, "a plane without its end"),
                Ok(_) => {}
            }
            match tag >> 3 {
                1 => self.plane(&message, at),
                4 => self.hostname = Some(String::from_utf8_lossy(&message).into_owned()),
                _ => {}
            }
        }
    }

    /// A number of the stream; `None` where it ends.
    fn varint(&mut self, input: &mut dyn Read) -> io::Result<Option<u64>> {
        let mut bytes = [0; 10];
        let mut length = 0;
        while length < bytes.len() {
            match input.read(&mut bytes[length..=length]) {
                Ok(0) => return Ok(None),
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.damage(error).map(|()| None),
            }
            self.reading.bytes += 1;
            if let Some((value, _)) = wire::varint(&bytes[..length]) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Tells a compressed stream that is cut or damaged, which ends there, from a system that cannot read.
    fn damage(&mut self, error: io::Error) -> io::Result<()> {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        if !matches!(error.kind(), UnexpectedEof | InvalidData | InvalidInput | Other) {
            return Err(error);
        }
        self.cut(self.reading.bytes, &error.to_string());
        Ok(())
    }

    fn cut(&mut self, at: u64, problem: &str) {
        self.reading.truncated = true;
        self.reading.find(Cause::Truncated, at, || problem.to_owned());
    }

    fn plane(&mut self, message: &[u8], at: u64) {
        let plane = Plane::of(message);
        if let Some(broken) = plane.broken_at.filter(|_| !self.reading.truncated) {
            let name = &plane.name;
            self.reading.find(Cause::BrokenEvent, at + broken as u64, || {
                format!("plane {name} is no message from here")
            });
        }
        self.planes += u64::from(!plane.name.is_empty());
        if device_of(&plane.name).is_some() {
            self.devices.extend(DeviceTrace::of(&plane, at, &mut self.reading));
        } else if plane.name.starts_with("/host:") {
            self.host.read(&plane, at, &mut self.reading);
        } else if plane.name == "Task Environment"
            && let Some(Stat::Number(start)) = plane.stat("profile_start_time")
        {
            // Stamps are added to it: one that is beyond this century is none.
            self.start_ns = (1..1 << 62).contains(&start).then_some(start);
        }
    }

    fn finish(mut self, path: &Path) -> FileTraces {
        if self.devices.is_empty() {
            self.reading.find(Cause::NoDeviceWork, 0, || "no device plane has events".into());
        }
        // Lines count from the start of the profile; profilers before it was recorded wrote instants since 1970.
        let first_ns = self.devices.iter().map(|device| device.first_ns).min().unwrap_or(0);
        let shift_ns = self.start_ns.filter(|&start| first_ns < start).unwrap_or(0);
        let host = &self.host;
        let hostname = self.hostname;
        let identity = |part| Identity {
            host: hostname.clone(),
            part,
            evidence: RankEvidence::None,
            ..Identity::UNKNOWN
        };
        let mut ranks: Vec<_> = self
            .devices
            .into_iter()
            .map(|mut device| {
                host.add_to(&mut device);
                device.builder.identity = Some(identity(Some(device.name)));
                device.builder
            })
            .collect();
        if ranks.is_empty() {
            let mut builder = TraceBuilder::default();
            host.add_ranges(&mut builder);
            builder.identity = Some(identity(None));
            ranks.push(builder);
        }
        let epoch = if self.start_ns.is_some() { Epoch::Unix } else { Epoch::Own };
        let ranks = ranks
            .into_iter()
            .map(|mut builder| {
                builder.shift(shift_ns);
                builder.finish(path, Format::XPlane, epoch)
            })
            .collect();
        FileTraces { ranks, reading: self.reading }
    }
}
