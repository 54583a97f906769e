//! Constraints as a person writes them: `tp<=8`, `memory<=70`, `recompute=none,full`.

use std::ops::RangeInclusive;

use super::Space;
use crate::run::{Recompute, Schedule, Sharding};

/// A constraint that says nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "constraint `{text}`: {message}; write for example tp<=8, pp=4, nodes<=16, memory<=70 (GB), sp=on,off, zero=1,3, recompute=none,full or schedule=1f1b,zb-h1"
)]
pub struct BadConstraint {
    /// What was given.
    pub text: String,
    /// What is wrong.
    pub message: String,
}

/// What stands on the left of a range.
const RANGES: &str = "tp, cp, pp, dp, ep, etp, vpp, micro, nodes";

impl Space {
    /// Narrows a range: `tp`, `cp`, `pp`, `dp`, `ep`, `etp`, `vpp`, `micro` or `nodes` with `<=`, `>=` or `=`; `memory` in GB with `<=`. Or names
    /// the settings of a switch that are tried: `sp`, `overlap_gradients`, `overlap_parameters`, `overlap_tensor` (`on`, `off`), `zero` (0 to 3),
    /// `recompute` (as in RUN.yaml; a number is so many layers of a stage), `schedule`.
    ///
    /// # Errors
    /// [`BadConstraint`] says what was expected.
    pub fn constrain(&mut self, text: &str) -> Result<(), BadConstraint> {
        let bad = |message: String| BadConstraint { text: text.to_owned(), message };
        let split = ["<=", ">=", "="].into_iter().find_map(|sign| Some((sign, text.split_once(sign)?)));
        let (sign, (field, value)) = split.ok_or_else(|| bad("has no <=, >= or =".to_owned()))?;
        let (field, value) = (field.trim(), value.trim());
        if field == "memory" {
            let gigabytes: f64 =
                value.parse().map_err(|_| bad("has no number of GB on its right".to_owned()))?;
            if sign != "<=" || gigabytes.is_nan() || gigabytes <= 0.0 {
                return Err(bad("memory takes <= and a number above 0".to_owned()));
            }
            self.memory_bytes = self.memory_bytes.min(gigabytes * 1e9);
            return Ok(());
        }
        if let Some(range) = self.range(field) {
            let value = value.parse().map_err(|_| bad("has no whole number on its right".to_owned()))?;
            *range = narrowed(range, sign, value);
            return Ok(());
        }
        if sign != "=" {
            return Err(bad(format!("only {RANGES} and memory take {sign}")));
        }
        let listed = self.choose(field, value);
        listed.map_err(|expected| bad(format!("expected {expected}")))
    }

    fn range(&mut self, field: &str) -> Option<&mut RangeInclusive<u32>> {
        Some(match field {
            "tp" => &mut self.tensor,
            "cp" => &mut self.context,
            "pp" => &mut self.pipeline,
            "dp" => &mut self.data,
            "ep" => &mut self.expert,
            "etp" => &mut self.expert_tensor,
            "vpp" => &mut self.parts,
            "micro" => &mut self.micro,
            "nodes" => &mut self.nodes,
            _ => return None,
        })
    }

    /// The settings of a switch; what was expected otherwise.
    fn choose(&mut self, field: &str, value: &str) -> Result<(), String> {
        let switch = |name: &str| match name {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        };
        const SWITCH: &str = "on, off or both";
        match field {
            "sp" => self.sequence_parallel = all(value, switch, SWITCH)?,
            "overlap_gradients" => self.overlap_gradients = all(value, switch, SWITCH)?,
            "overlap_parameters" => self.overlap_parameters = all(value, switch, SWITCH)?,
            "overlap_tensor" => self.overlap_tensor = all(value, switch, SWITCH)?,
            "zero" => self.sharding = all(value, sharding, "0, 1, 2, 3")?,
            "recompute" => {
                self.recompute = all(
                    value,
                    recompute,
                    "none, selective, cheap, every-other-product, full or numbers of layers",
                )?;
            }
            "schedule" => {
                self.schedules = all(value, schedule, "gpipe, 1f1b, interleaved, zb-h1, zb-2p, dualpipe")?;
            }
            _ => {
                return Err(format!(
                    "one of {RANGES}, memory, sp, zero, recompute, schedule, overlap_gradients, overlap_parameters, overlap_tensor"
                ));
            }
        }
        Ok(())
    }
}

fn narrowed(range: &RangeInclusive<u32>, sign: &str, value: u32) -> RangeInclusive<u32> {
    let low = if sign == "<=" { *range.start() } else { value.max(*range.start()) };
    let high = if sign == ">=" { *range.end() } else { value.min(*range.end()) };
    low..=high
}

fn all<T: PartialEq>(value: &str, of: impl Fn(&str) -> Option<T>, expected: &str) -> Result<Vec<T>, String> {
    let mut settings = Vec::new();
    for name in value.split(',') {
        let setting = of(name.trim()).ok_or_else(|| format!("{expected}, not `{}`", name.trim()))?;
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    Ok(settings)
}

fn sharding(name: &str) -> Option<Sharding> {
    Some(match name {
        "0" => Sharding::None,
        "1" => Sharding::Optimizer,
        "2" => Sharding::Gradients,
        "3" => Sharding::Parameters { reshard_after_forward: true },
        _ => return None,
    })
}

fn recompute(name: &str) -> Option<Recompute> {
    Some(match name {
        "none" => Recompute::None,
        "selective" => Recompute::AttentionCore,
        "cheap" => Recompute::Cheap,
        "every-other-product" => Recompute::EveryOtherProduct,
        "full" => Recompute::Full,
        layers => Recompute::Layers(layers.parse().ok().filter(|layers| *layers > 0)?),
    })
}

fn schedule(name: &str) -> Option<Schedule> {
    Some(match name {
        "gpipe" => Schedule::GPipe,
        "1f1b" => Schedule::OneForwardOneBackward,
        // Stands for all numbers of parts.
        "interleaved" => Schedule::Interleaved { parts: 2 },
        "zb-h1" => Schedule::ZeroBubbleH1,
        "zb-2p" => Schedule::ZeroBubble2p,
        "dualpipe" => Schedule::DualPipe,
        _ => return None,
    })
}
