//! Which operator made a call, when only time tells: the innermost one on the call's thread.

use super::{Launch, Operator};

/// For each launch the innermost operator of its thread that contains its start. Both by start, operators of one
/// start by falling end.
pub(super) fn innermost(launches: &[Launch], operators: &[Operator]) -> Vec<Option<u32>> {
    let mut open: Vec<Vec<u32>> = Vec::new();
    let mut next = (0..).zip(operators).peekable();
    launches
        .iter()
        .map(|launch| {
            while let Some((index, operator)) = next.next_if(|(_, op)| op.start_ns <= launch.start_ns) {
                let thread = operator.thread as usize;
                if open.len() <= thread {
                    open.resize_with(thread + 1, Vec::new);
                }
                close(&mut open[thread], operators, operator.start_ns);
                open[thread].push(index);
            }
            let stack = open.get_mut(launch.thread as usize)?;
            close(stack, operators, launch.start_ns);
            stack.last().copied()
        })
        .collect()
}

/// Ranges of a thread nest, so that those that have ended are on top.
fn close(stack: &mut Vec<u32>, operators: &[Operator], now_ns: i64) {
    while stack.last().is_some_and(|&top| operators[top as usize].end_ns <= now_ns) {
        stack.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_core::records::Symbol;

    #[test]
    fn a_call_belongs_to_the_innermost_operator_of_its_thread() {
        let operator = |start_ns, end_ns, thread| Operator::named(Symbol::EMPTY, thread, (start_ns, end_ns));
        let launch =
            |start_ns, thread| Launch { start_ns, end_ns: start_ns + 1, name: Symbol::EMPTY, thread };
        let operators = [operator(0, 100, 0), operator(5, 200, 1), operator(10, 20, 0), operator(30, 40, 0)];
        let launches =
            [launch(1, 0), launch(12, 0), launch(12, 1), launch(25, 0), launch(35, 0), launch(100, 0)];
        let expected = [Some(0), Some(2), Some(1), Some(0), Some(3), None];
        assert_eq!(innermost(&launches, &operators), expected);
        assert_eq!(innermost(&[launch(0, 7)], &operators), [None]);
    }
}
