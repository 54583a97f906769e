//! Records of `scontrol show`: `Key=value` pairs over several lines or on one, values unquoted.

/// The pairs of one record, found as they are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keyed<'r>(&'r str);

impl<'r> Keyed<'r> {
    pub(super) fn new(record: &'r str) -> Self {
        Self(record)
    }

    /// The value of the first pair with this key: up to the next word that looks like a key. Slurm's
    /// words for nothing (`(null)`, `N/A`, `None`) are none.
    pub(super) fn get(&self, key: &str) -> Option<&'r str> {
        let rest = self.after(key)?;
        let end = key_starts(rest).next().unwrap_or(rest.len());
        let value = rest[..end].trim();
        (!matches!(value, "" | "(null)" | "N/A" | "None")).then_some(value)
    }

    /// All that follows the first pair with this key, for free text.
    pub(super) fn after(&self, key: &str) -> Option<&'r str> {
        let found = |start: usize| self.0[start..].strip_prefix(key)?.strip_prefix('=');
        found(0).or_else(|| key_starts(self.0).find_map(found))
    }
}

/// Where a word of the form `Key=` begins, after white space.
fn key_starts(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'=', bytes).filter_map(|equals| {
        let name = bytes[..equals]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
            .count();
        let start = equals - name;
        let begins = bytes.get(start).is_some_and(u8::is_ascii_alphabetic);
        (begins && start > 0 && bytes[start - 1].is_ascii_whitespace()).then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODE: &str = "NodeName=gpu001 Arch=x86_64 OS=Linux 6.18 #1 SMP @0  State=IDLE+DRAIN AllocTRES= \
                        CfgTRES=cpu=64,gres/gpu=8 Comment=(null)\n   Reason=a State=DOWN note=x [root@2026-11-29T17:40:11]";

    #[test]
    fn values_end_where_the_next_key_begins() {
        let node = Keyed::new(NODE);
        assert_eq!(node.get("NodeName"), Some("gpu001"));
        assert_eq!(node.get("OS"), Some("Linux 6.18 #1 SMP @0"));
        assert_eq!(node.get("CfgTRES"), Some("cpu=64,gres/gpu=8"));
        assert_eq!(node.get("AllocTRES"), None);
        assert_eq!(node.get("Comment"), None);
        assert_eq!(node.get("Name"), None);
    }

    #[test]
    fn the_first_pair_of_a_key_counts() {
        assert_eq!(Keyed::new(NODE).get("State"), Some("IDLE+DRAIN"));
        assert_eq!(Keyed::new(NODE).after("Reason"), Some("a State=DOWN note=x [root@2026-11-29T17:40:11]"));
    }

    proptest! {
        #[test]
        fn any_text_is_searched(text in "\\PC{0,60}", key in "[A-Za-z]{0,5}") {
            let _ = Keyed::new(&text).get(&key);
        }
    }
}
