use super::super::sheet::{Claim, Kernel, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "largest-kernel-first",
    severity: Severity::Warning,
    title: "the largest kernel taken for the largest loss",
    why: "Matrix products of a well-tuned step run near their ceiling: their time is not loss. What can be recovered is a \
          kernel's share times what it misses of its own ceiling; exposed exchanges stand in no ranking of one device's kernels.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let recoverable = |kernel: &Kernel| kernel.share * (1.0 - kernel.of_ceiling).max(0.0);
    let judge = |(i, claim): (usize, &Claim)| {
        let Claim::FirstKernel { kernel, kernels } = claim else { return None };
        let first = kernels.iter().find(|k| k.kernel == *kernel)?;
        let best = kernels.iter().max_by(|a, b| recoverable(a).total_cmp(&recoverable(b)))?;
        if recoverable(best) <= recoverable(first) {
            return None;
        }
        let corrected = [first, best].map(|k| {
            let how = format!("{} of the step at {} of its ceiling", number(k.share), number(k.of_ceiling));
            Corrected::new(format!("of the step, recoverable in {}", k.kernel), None, recoverable(k), how)
        });
        let found = Found::new(
            format!("claims[{i}].kernel"),
            format!("{} first; {} has more to recover", first.kernel, best.kernel),
        );
        Some(found.corrected(corrected))
    };
    sheet.claims.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn a_fast_product_has_little_to_give() {
        let with = |first: &str| {
            format!(
                "
claims:
  - claim: first_kernel
    kernel: {first}
    kernels:
      - {{kernel: gemm, share: 0.6, of_ceiling: 0.9}}
      - {{kernel: all-reduce, share: 0.25, of_ceiling: 0}}
"
            )
        };
        let fired = found(&CHECK, &with("gemm"));
        close(fired[0].corrected[0].value, 0.06);
        close(fired[0].corrected[1].value, 0.25);
        assert!(found(&CHECK, &with("all-reduce")).is_empty());
    }
}
