//! Disjoint intervals in layers, the upper of which hides the lower.

/// A half-open interval of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<T> {
    pub start_ns: i64,
    pub end_ns: i64,
    pub of: T,
}

/// Makes one layer disjoint: where several run at once, the one that started first keeps the time. `spans` come by
/// start.
pub(crate) fn first_wins<T>(spans: &mut Vec<Span<T>>) {
    let mut reach_ns = i64::MIN;
    spans.retain_mut(|span| {
        span.start_ns = span.start_ns.max(reach_ns);
        let remains = span.start_ns < span.end_ns;
        if remains {
            reach_ns = span.end_ns;
        }
        remains
    });
}

/// `upper`, and what it leaves of `lower`. Both are disjoint and ordered, and so is the result.
pub(crate) fn over<T: Copy>(upper: Vec<Span<T>>, lower: Vec<Span<T>>) -> Vec<Span<T>> {
    if lower.is_empty() {
        return upper;
    }
    let mut merged = Vec::with_capacity(upper.len() + lower.len());
    let mut upper = upper.into_iter().peekable();
    for mut low in lower {
        while let Some(&high) = upper.peek().filter(|high| high.start_ns < low.end_ns) {
            if low.start_ns < high.start_ns {
                merged.push(Span { end_ns: high.start_ns, ..low });
            }
            low.start_ns = low.start_ns.max(high.end_ns);
            if high.end_ns > low.end_ns {
                break;
            }
            merged.push(high);
            upper.next();
        }
        if low.start_ns < low.end_ns {
            merged.push(low);
        }
    }
    merged.extend(upper);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: char, ends: &[(i64, i64)]) -> Vec<Span<char>> {
        ends.iter().map(|&(start_ns, end_ns)| Span { start_ns, end_ns, of }).collect()
    }

    fn text(spans: &[Span<char>]) -> String {
        let parts: Vec<_> = spans.iter().map(|s| format!("{}{}-{}", s.of, s.start_ns, s.end_ns)).collect();
        parts.join(" ")
    }

    #[test]
    fn of_one_layer_the_first_keeps_the_time() {
        let mut layer = spans('a', &[(0, 10), (2, 5), (8, 12), (12, 13), (12, 20)]);
        first_wins(&mut layer);
        assert_eq!(text(&layer), "a0-10 a10-12 a12-13 a13-20");
    }

    #[test]
    fn the_upper_layer_hides_the_lower() {
        let upper = spans('u', &[(2, 4), (6, 14), (30, 40)]);
        let lower = spans('l', &[(0, 8), (9, 10), (12, 32), (35, 36)]);
        assert_eq!(text(&over(upper, lower)), "l0-2 u2-4 l4-6 u6-14 l14-30 u30-40");
        assert_eq!(text(&over(Vec::new(), spans('l', &[(0, 1)]))), "l0-1");
        assert_eq!(text(&over(spans('u', &[(0, 1)]), spans('l', &[(1, 2)]))), "u0-1 l1-2");
    }
}
