//! A framework in RUN.yaml: a profile's name, or a profile and what differs from it.

use serde::Deserialize;
use serde_json::Value;

use super::Framework;
use super::keys::{self, FieldError};
use crate::collective::Release;
use crate::kernel::{AttentionKernel, Dispatch, Fusion};

/// What can be stated otherwise than the profile has it.
const KEYS: &[&str] = &[
    "like",
    "name",
    "dispatch",
    "fusion",
    "fused_norm",
    "fused_loss",
    "fused_attention",
    "attention_kernel",
    "token_once_a_node",
    "dropout",
    "separate_projections",
    "overlap_backward",
    "gathers_operands",
    "reserved_multiprocessors",
    "fused_accumulation",
    "flat_parameters",
    "placeholder_gradients",
    "scatter_gather",
    "blocking_sends",
    "vocabulary_multiple",
    "nccl",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    like: Option<String>,
    name: Option<String>,
    dispatch: Option<DispatchName>,
    fusion: Option<FusionName>,
    fused_norm: Option<bool>,
    fused_loss: Option<bool>,
    fused_attention: Option<bool>,
    attention_kernel: Option<AttentionKernel>,
    token_once_a_node: Option<bool>,
    dropout: Option<bool>,
    separate_projections: Option<bool>,
    overlap_backward: Option<bool>,
    gathers_operands: Option<bool>,
    reserved_multiprocessors: Option<u32>,
    fused_accumulation: Option<bool>,
    flat_parameters: Option<bool>,
    placeholder_gradients: Option<bool>,
    scatter_gather: Option<bool>,
    blocking_sends: Option<bool>,
    vocabulary_multiple: Option<u64>,
    nccl: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DispatchName {
    Eager,
    Compiled,
    Graph,
    Blocking,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FusionName {
    Eager,
    Joined,
    Fused,
}

/// The profile that a value names or describes.
pub(super) fn framework(value: &Value) -> Result<Framework, FieldError> {
    if let Value::String(name) = value {
        return Framework::named(name).map_err(|error| FieldError::new("framework", error));
    }
    let file: File = keys::read("framework", value, KEYS)?;
    let like = file.like.as_deref().unwrap_or("megatron-lm");
    let mut profile = Framework::named(like).map_err(|error| FieldError::new("framework.like", error))?;
    profile.name = file.name.unwrap_or_else(|| format!("{} (changed)", profile.name));
    if let Some(dispatch) = file.dispatch {
        profile.dispatch = match dispatch {
            DispatchName::Eager => Dispatch::Eager,
            DispatchName::Compiled => Dispatch::Compiled,
            DispatchName::Graph => Dispatch::Graph,
            DispatchName::Blocking => Dispatch::Blocking,
        };
    }
    if let Some(fusion) = file.fusion {
        profile.fusion = match fusion {
            FusionName::Eager => Fusion::Eager,
            FusionName::Joined => Fusion::Joined,
            FusionName::Fused => Fusion::Fused,
        };
    }
    match file.attention_kernel {
        Some(AttentionKernel::Unfused) => profile.fused_attention = false,
        Some(kernel) => {
            profile.fused_attention = true;
            profile.attention = Some(kernel);
        }
        None => {}
    }
    for (switch, stated) in [
        (&mut profile.fused_norm, file.fused_norm),
        (&mut profile.fused_loss, file.fused_loss),
        (&mut profile.fused_attention, file.fused_attention),
        (&mut profile.token_once_a_node, file.token_once_a_node),
        (&mut profile.dropout, file.dropout),
        (&mut profile.separate_projections, file.separate_projections),
        (&mut profile.overlap_backward, file.overlap_backward),
        (&mut profile.gathers_operands, file.gathers_operands),
        (&mut profile.fused_accumulation, file.fused_accumulation),
        (&mut profile.flat_parameters, file.flat_parameters),
        (&mut profile.placeholder_gradients, file.placeholder_gradients),
        (&mut profile.scatter_gather, file.scatter_gather),
        (&mut profile.blocking_sends, file.blocking_sends),
    ] {
        *switch = stated.unwrap_or(*switch);
    }
    if let Some(reserved) = file.reserved_multiprocessors {
        if reserved > MOST_RESERVED {
            let message = format!("{reserved} is not possible: give 0 to {MOST_RESERVED}, such as 20");
            return Err(FieldError::new("framework.reserved_multiprocessors", message));
        }
        profile.reserved_multiprocessors = reserved;
    }
    if let Some(multiple) = file.vocabulary_multiple {
        if !(1..=LARGEST_MULTIPLE).contains(&multiple) {
            let message = format!("{multiple} is not possible: give 1 to {LARGEST_MULTIPLE}, such as 128");
            return Err(FieldError::new("framework.vocabulary_multiple", message));
        }
        profile.vocabulary_multiple = multiple;
    }
    if let Some(version) = file.nccl {
        let release = Release::of_version(&version);
        profile.nccl = Some(release.map_err(|error| FieldError::new("framework.nccl", error))?);
    }
    Ok(profile)
}

const LARGEST_MULTIPLE: u64 = 65_536;
/// A half of the smallest device that trains.
const MOST_RESERVED: u32 = 32;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_is_changed_by_what_is_stated() {
        let stated = json!({"like": "torchtitan", "flat_parameters": true, "reserved_multiprocessors": 8, "gathers_operands": true});
        let profile = framework(&stated).unwrap();
        assert!(profile.flat_parameters && profile.gathers_operands);
        assert_eq!(profile.reserved_multiprocessors, 8);
        let Err(error) = framework(&json!({"reserved_multiprocessors": 1000})) else { panic!("taken") };
        assert_eq!(error.field, "framework.reserved_multiprocessors");
        assert!(error.message.contains("0 to 32"), "{}", error.message);
    }
}
