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

#[cfg(test)]
mod tests {
    use super::*;

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
