//! Names from other people's records, made fit to be shown.

/// Text without characters that steer a terminal (escape codes), turn the direction of a line
/// around, or take no room.
pub(crate) fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// At most `characters` characters, the middle cut and marked: names of one family differ at their ends.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    let length = text.chars().count();
    if length <= characters {
        return text.to_owned();
    }
    let tail = characters / 3;
    let head = characters.saturating_sub(tail + 1);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// The last two parts of a path: enough to tell files apart beside the list of what was read.
pub(crate) fn short_path(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

/// Records as `file:line`, in short: the file once, then its lines.
pub(crate) fn records(sources: &[String]) -> String {
    let mut out = String::new();
    let mut last = "";
    for source in sources {
        let (path, line) = source.rsplit_once(':').unwrap_or((source, ""));
        if !out.is_empty() {
            out.push_str(", ");
        }
        if path != last || line.is_empty() {
            out.push_str(short_path(path));
        }
        if !line.is_empty() {
            out.push(':');
            out.push_str(line);
        }
        last = path;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_name_each_file_once() {
        let sources = ["/data/week/sacct.txt:4", "/data/week/sacct.txt:9", "nodes.txt:2", "nodes.txt"];
        let sources = sources.map(str::to_owned);
        assert_eq!(records(&sources), "week/sacct.txt:4, :9, nodes.txt:2, nodes.txt");
    }

    #[test]
    fn cut_names_keep_both_ends() {
        assert_eq!(cut("gpu-h100-partition-17", 12), "gpu-h10…n-17");
        assert_eq!(cut("short", 12), "short");
        assert_eq!(cut("ééééé", 3), "é…é");
    }

    #[test]
    fn codes_that_steer_a_terminal_or_turn_a_line_around_are_shown() {
        assert_eq!(printable("\u{1b}[2J\r\n"), "\u{fffd}[2J\u{fffd}\u{fffd}");
        assert_eq!(printable("a\u{202e}b\u{200b}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(printable("größe 訓練"), "größe 訓練");
    }
}
