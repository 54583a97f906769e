//! Architectures from the `config.json` of Hugging Face transformers and diffusers.
//!
//! A known model type's class reads the fields of its own reader here, and no other field changes
//! what it computes. Of an unknown type nobody knows that, so it is read only when it has the
//! fields of a plain decoder and every other field is one that never changes FLOPs.

mod config;
mod decoder;
mod diffusion;
mod encoder;
mod gpt;
mod hybrid;
mod layers;
mod literals;
mod multimodal;
mod neutral;
mod recurrent;

use super::{Architecture, ArchitectureError};
use config::Config;

/// What a reader makes of a configuration.
type Read = Result<Architecture, ArchitectureError>;

type Reader = fn(&Config) -> Read;

/// Model types and who reads them.
const READERS: &[(&[&str], Reader)] = &[
    (decoder::TYPES, decoder::read),
    (&["gpt2"], gpt::gpt2),
    (&["gpt_neox"], gpt::gpt_neox),
    (&["falcon"], gpt::falcon),
    (&["qwen3_next"], hybrid::qwen3_next),
    (&["nemotron_h"], hybrid::nemotron_h),
    (&["jamba"], hybrid::jamba),
    (&["mamba2"], recurrent::mamba2),
    (&["bert"], encoder::bert),
    (&["t5"], encoder::t5),
    (&["vit"], encoder::vit),
    (multimodal::TOWERS, multimodal::tower),
    (multimodal::MODELS, multimodal::model),
    (&["DiTTransformer2DModel"], diffusion::patch),
    (&["FluxTransformer2DModel"], diffusion::double_stream),
];

impl Architecture {
    /// Reads a `config.json`. The literals `Infinity` and `NaN`, which Python writes, are accepted.
    ///
    /// # Errors
    /// [`ArchitectureError`] names the field that is missing, impossible, or changes FLOPs in a way
    /// that is not counted; a configuration of another kind of model lists the kinds that are.
    pub fn from_hugging_face(json: &str, name: &str) -> Result<Self, ArchitectureError> {
        let syntax = |message: String| ArchitectureError::Syntax { name: name.to_owned(), message };
        let value: serde_json::Value = serde_json::from_str(&literals::without_non_finite(json))
            .map_err(|error| syntax(error.to_string()))?;
        let fields = value.as_object().ok_or_else(|| syntax("expected a JSON object".to_owned()))?;
        let architecture = read(&Config::new(name, fields))?;
        architecture.check()?;
        Ok(architecture)
    }
}

fn read(config: &Config) -> Read {
    let model_type = match config.text("model_type")? {
        Some(model_type) => model_type,
        None => diffusion::class(config)?.ok_or_else(|| ArchitectureError::OtherKind {
            name: config.name().to_owned(),
            found: match config.has("peft_type") {
                true => {
                    "field `peft_type` says that these are adapters; give the configuration of their base \
                         model (`base_model_name_or_path`), and the rank with --lora"
                        .to_owned()
                }
                false => "field `model_type` is missing".to_owned(),
            },
            supported: supported(),
        })?,
    };
    match READERS.iter().find(|(types, _)| types.contains(&model_type)) {
        Some((_, reader)) => {
            let architecture = reader(config)?;
            Ok(Architecture { family: model_type.to_owned(), ..architecture })
        }
        None => unknown(config, model_type),
    }
}

/// An unknown type: a plain decoder, or an error.
fn unknown(config: &Config, model_type: &str) -> Read {
    let plain =
        ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"];
    if let Some(missing) = plain.into_iter().find(|field| !config.has(field)) {
        return Err(ArchitectureError::OtherKind {
            name: config.name().to_owned(),
            found: match config.has("text_config") {
                true => format!(
                    "model type `{model_type}` is not known; its `text_config` can be counted alone from a file \
                     of its own"
                ),
                false => {
                    format!(
                        "model type `{model_type}` is not known, and it is no plain decoder: no `{missing}`"
                    )
                }
            },
            supported: supported(),
        });
    }
    let architecture = decoder::read_plain(config)?;
    let unread = config.unread().into_iter().find(|field| !neutral::is_neutral(field));
    match unread {
        Some(field) => Err(ArchitectureError::UnknownField {
            name: config.name().to_owned(),
            model_type: model_type.to_owned(),
            field,
            supported: supported(),
        }),
        None => Ok(Architecture { family: model_type.to_owned(), ..architecture }),
    }
}

fn supported() -> String {
    let types: Vec<&str> = READERS.iter().flat_map(|(types, _)| types.iter().copied()).collect();
    types.join(", ")
}
