//! The tables that name numbers: resources, associations, qualities of service, reservations.

use rustc_hash::FxHashMap;

use super::{Kind, Table};
use crate::ReadError;
use crate::scheduler::slurm::reading::{Fault, Outcome, Reading, format_error, shown};
use crate::scheduler::slurm::times::whole_number;

/// Names by number, as far as their tables are among the files.
#[derive(Debug, Default)]
pub(super) struct Names {
    resources: Option<Resources>,
    users: FxHashMap<u64, String>,
    qos: FxHashMap<u64, String>,
    pub(super) reservations: FxHashMap<u64, String>,
}

/// The numbers that devices and nodes have at this site.
#[derive(Debug, Default)]
pub(super) struct Resources {
    devices: Option<u64>,
    device_types: Vec<u64>,
    nodes: Option<u64>,
}

/// What a resource list counts; `None` where it does not list it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) devices: Option<u64>,
    pub(super) nodes: Option<u64>,
}

impl Names {
    pub(super) fn read(&mut self, table: Table<'_>, reading: &mut Reading<'_>) -> Result<(), ReadError> {
        let kind = table.kind;
        let id = table.column(if kind == Kind::Associations { "id_assoc" } else { "id" });
        let name = table.column(if kind == Kind::Associations { "user" } else { "name" });
        let resource_type = table.column("type");
        if kind == Kind::Resources {
            self.resources.get_or_insert_default();
        }
        table.rows(reading, |row, _, _| {
            let number = row.get(id);
            let number = whole_number(number)
                .ok_or_else(|| Fault::row("id", format!("{} is no number", shown(number))))?;
            match kind {
                Kind::Resources => {
                    let resources = self.resources.get_or_insert_default();
                    match (row.get(resource_type), row.get(name)) {
                        (b"gres", b"gpu") => resources.devices = Some(number),
                        (b"gres", typed) if typed.starts_with(b"gpu:") => resources.device_types.push(number),
                        (b"node", _) => resources.nodes = Some(number),
                        _ => {}
                    }
                }
                Kind::Qos => drop(self.qos.insert(number, row.text(name))),
                _ => drop(self.users.insert(number, row.text(name))),
            }
            Ok(Outcome::Used)
        })
    }

    pub(super) fn resources(&self, label: &str) -> Result<&Resources, ReadError> {
        self.resources.as_ref().ok_or_else(|| {
            format_error(
                label,
                0,
                "the table counts resources by numbers that differ from site to site, and tres_table is not among the files",
                "give tres_table too (columns id, type, name): mysql -B slurm_acct_db -e 'select * from tres_table'",
            )
        })
    }

    /// The user of an association, or the number of the account on the system.
    pub(super) fn user(&self, association: &[u8], user_id: &[u8]) -> String {
        let name =
            whole_number(association).and_then(|id| self.users.get(&id)).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| numbered("uid", user_id))
    }

    pub(super) fn qos(&self, id: &[u8]) -> String {
        whole_number(id).and_then(|id| self.qos.get(&id)).cloned().unwrap_or_else(|| numbered("qos", id))
    }

    pub(super) fn reservation(&self, id: &[u8]) -> String {
        let name = whole_number(id).and_then(|id| self.reservations.get(&id));
        name.cloned().unwrap_or_else(|| numbered("reservation", id))
    }
}

/// `qos 3`; empty for zero, which means none.
fn numbered(what: &str, id: &[u8]) -> String {
    match id {
        b"" | b"0" if what != "uid" => String::new(),
        b"" => String::new(),
        id => format!("{what} {}", String::from_utf8_lossy(id)),
    }
}

impl Resources {
    /// Reads `1=256,4=4,1001=32,1003=32`. The total counts; where it is missing the types are summed.
    pub(super) fn counts(&self, list: &[u8]) -> Result<Counts, Fault> {
        let mut counts = Counts::default();
        let mut typed = None;
        for item in list.split(|&b| b == b',').filter(|item| !item.is_empty()) {
            let malformed = || Fault::row("tres", format!("{} is no number=count", shown(item)));
            let equals = memchr::memchr(b'=', item).ok_or_else(malformed)?;
            let id = whole_number(&item[..equals]).ok_or_else(malformed)?;
            let is_type = self.device_types.contains(&id);
            if Some(id) != self.devices && Some(id) != self.nodes && !is_type {
                continue;
            }
            if &item[equals + 1..] == NO_VALUE {
                continue;
            }
            let count = whole_number(&item[equals + 1..]).ok_or_else(malformed)?;
            if is_type {
                typed = Some(u64::saturating_add(typed.unwrap_or(0), count));
            } else if Some(id) == self.devices {
                counts.devices = Some(count);
            } else {
                counts.nodes = Some(count);
            }
        }
        counts.devices = counts.devices.or(typed);
        Ok(counts)
    }
}

/// Slurm's "no value" for 64-bit fields (`NO_VAL64`).
const NO_VALUE: &[u8] = b"18446744073709551614";

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1=256,4=4,5=256,1001=32,1003=32", Some(32), Some(4))]
    #[case("1003=8,1002=4", Some(12), None)]
    #[case("3=18446744073709551614,1001=18446744073709551614", None, None)]
    #[case("", None, None)]
    fn devices_count_once(#[case] list: &str, #[case] devices: Option<u64>, #[case] nodes: Option<u64>) {
        let resources = Resources { devices: Some(1001), device_types: vec![1002, 1003], nodes: Some(4) };
        assert_eq!(resources.counts(list.as_bytes()).ok(), Some(Counts { devices, nodes }));
    }

    #[rstest]
    #[case("1001")]
    #[case("1001=x")]
    #[case("a=1")]
    fn what_is_no_list_is_refused(#[case] list: &str) {
        let resources = Resources { devices: Some(1001), ..Resources::default() };
        assert!(resources.counts(list.as_bytes()).is_err());
    }
}
