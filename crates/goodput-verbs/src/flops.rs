//! What a batch of a model computes, and what each convention says of it.

use goodput_model::self_check::{MODELS, SelfCheckError};
use goodput_model::{
    Architecture, Batch, BatchError, FlopCounter, Grid, Module, Recompute, Training, self_check as compare,
};
use goodput_report::{FlopsInput, FlopsView, SelfCheckView};

use crate::error::VerbError;
use crate::model::architecture;

/// Tokens of a sequence when nobody says.
const SEQUENCE: u64 = 4096;

/// A model, a batch, and what is trained.
#[derive(Debug, Clone, Default)]
pub struct FlopsRequest {
    /// A Hugging Face `config.json`, a file in our own YAML form, or a known name.
    pub model: String,
    /// Tokens of a sequence, one document each; without documents and this, 4,096.
    pub sequence: Option<u64>,
    /// Sequences; 1 unless stated.
    pub sequences: Option<u64>,
    /// Lengths of documents, instead of sequences.
    pub documents: Vec<u64>,
    /// Tokens of the packed row that the documents must fill.
    pub row: Option<u64>,
    /// Tokens to which every document is padded.
    pub pad_to: Option<u64>,
    /// Tokens of the source that an encoder reads for each document, or of its prompt.
    pub sources: Vec<u64>,
    /// Grids of patches.
    pub images: Vec<Grid>,
    /// Multi-token prediction modules that are trained.
    pub prediction_modules: u64,
    /// What is trained.
    pub training: TrainingRequest,
    /// What a step computes a second time.
    pub recompute: Recompute,
}

/// What is trained.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TrainingRequest {
    /// Every weight.
    #[default]
    Full,
    /// Nothing: the forward pass alone.
    Forward,
    /// Every weight but those of these modules.
    Frozen(Vec<Module>),
    /// Adapters on these modules, everything else frozen.
    Adapters {
        /// Their rank.
        rank: u64,
        /// Where they are.
        targets: Vec<Module>,
    },
}

/// Counts a batch of a model.
///
/// ```
/// use goodput_verbs::{FlopsRequest, flops};
/// let request = FlopsRequest { model: "llama3.1-8b".into(), sequence: Some(8192), ..FlopsRequest::default() };
/// assert_eq!(flops(&request)?.flops.useful.total.0, 421_651_971_833_856);
/// # Ok::<(), goodput_verbs::VerbError>(())
/// ```
///
/// # Errors
/// [`VerbError`] names the field of the model or of the batch.
pub fn flops(request: &FlopsRequest) -> Result<FlopsView, VerbError> {
    let architecture = request.architecture()?;
    let batch = request.batch(&architecture)?;
    let training = request.training.training();
    let counter = FlopCounter::new(&architecture, &training)?;
    let flops = counter.count(&batch, request.recompute)?;
    let input = FlopsInput {
        architecture: &architecture,
        batch: &batch,
        training: &training,
        training_words: &request.training.words(),
        recompute_words: recompute_words(request.recompute),
        flops: &flops,
        sequence: request.charged(&batch),
    };
    Ok(FlopsView::new(&input)?)
}

/// What counts the batches of a model, one after the other: the model and the training of `request`, whose batch is
/// not looked at.
///
/// # Errors
/// [`VerbError`] names the field of the model.
pub fn flop_counter(request: &FlopsRequest) -> Result<FlopCounter, VerbError> {
    Ok(FlopCounter::new(&request.architecture()?, &request.training.training())?)
}

/// Compares the batch formula with the per-token constant that it replaces: for one model, or for
/// five vision-language models.
///
/// # Errors
/// [`VerbError`] when a model has parts that the constant does not know.
pub fn self_check(model: Option<&str>) -> Result<SelfCheckView, VerbError> {
    let models = match model {
        Some(model) => vec![architecture(model)?],
        None => MODELS.iter().map(|name| Architecture::known(name)).collect::<Result<_, _>>()?,
    };
    let mut comparisons = Vec::new();
    for model in &models {
        comparisons.extend(compare::self_check(model)?);
    }
    Ok(SelfCheckView::new(&comparisons))
}

impl FlopsRequest {
    fn architecture(&self) -> Result<Architecture, VerbError> {
        let mut architecture = architecture(&self.model)?;
        if self.prediction_modules > 0 {
            let missing =
                || VerbError::new(format!("{} has no text model to predict tokens", architecture.name));
            architecture.text.as_mut().ok_or_else(missing)?.multi_token_prediction = self.prediction_modules;
        }
        Ok(architecture)
    }

    fn batch(&self, architecture: &Architecture) -> Result<Batch, VerbError> {
        let mut batch = match (self.documents.as_slice(), self.row, self.pad_to) {
            // A tower alone reads no tokens.
            ([], ..) if architecture.text.is_none() && architecture.diffusion.is_none() => Batch::default(),
            ([], ..) => Batch::rows(self.sequences.unwrap_or(1), self.sequence.unwrap_or(SEQUENCE))?,
            (lengths, Some(row), _) => Batch::packed(lengths, row)?,
            (lengths, _, Some(row)) => Batch::padded_rows(lengths, row)?,
            (lengths, ..) => Batch::documents(lengths)?,
        };
        if !self.sources.is_empty() {
            batch = batch.with_sources(&self.sources)?;
        }
        let batch = batch.with_images(&self.images)?;
        let merger = architecture.vision.as_ref().and_then(|tower| tower.merger);
        if let (Some(merger), Some(_)) = (merger, &architecture.text) {
            let merged = batch.patches() / merger.side.pow(2);
            if merged > batch.tokens() {
                let (name, tokens) = (&architecture.name, batch.tokens());
                let error = VerbError::new(format!(
                    "`images` become {merged} tokens of {name}, but the documents hold {tokens}"
                ));
                return Err(error.help("a document's tokens are its text and its images; give their lengths"));
            }
        }
        if batch.is_empty() {
            let error = VerbError::new(format!("{}: nothing to count", architecture.name));
            return Err(error.help(
                "give tokens, or the grids of patches that a vision tower reads: for example --images 16x16",
            ));
        }
        Ok(batch)
    }

    /// Tokens of the sequence that per-token constants charge: the row's, not the documents'.
    fn charged(&self, batch: &Batch) -> u64 {
        match (self.row, self.pad_to) {
            (Some(row), _) | (_, Some(row)) => row,
            _ if self.documents.is_empty() => batch.tokens() / self.sequences.unwrap_or(1).max(1),
            _ => batch.executed_tokens(),
        }
    }
}

impl TrainingRequest {
    fn training(&self) -> Training {
        match self {
            Self::Full => Training::full(),
            Self::Forward => Training::none(),
            Self::Frozen(modules) => Training::frozen(modules),
            Self::Adapters { rank, targets } => Training::lora(*rank, targets),
        }
    }

    fn words(&self) -> String {
        let names =
            |modules: &[Module]| modules.iter().map(|module| module.name()).collect::<Vec<_>>().join(", ");
        match self {
            Self::Full => "every weight trained".to_owned(),
            Self::Forward => "forward pass alone".to_owned(),
            Self::Frozen(modules) if modules.is_empty() => "every weight trained".to_owned(),
            Self::Frozen(modules) => format!("frozen: {}", names(modules)),
            Self::Adapters { rank, targets } => {
                format!("adapters of rank {rank} on {}; everything else frozen", names(targets))
            }
        }
    }
}

const fn recompute_words(recompute: Recompute) -> &'static str {
    match recompute {
        Recompute::None => "nothing",
        Recompute::FusedAttention => "the scores of attention",
        Recompute::Attention => "the attention core",
        Recompute::Full => "whole blocks",
    }
}

impl From<BatchError> for VerbError {
    fn from(error: BatchError) -> Self {
        let remedy = match &error {
            BatchError::RowMismatch { .. } => {
                "pad each document to a row of its own with --pad-to, or leave --row out"
            }
            BatchError::NotGiven { .. } => "--sources LENGTHS, one to a document",
            BatchError::Grid { .. } | BatchError::EmptyImage { .. } => {
                "a grid counts patches, not pixels: pixels over the patch size, rounded to whole merged cells"
            }
            _ => return Self::new(error.to_string()),
        };
        Self::new(error.to_string()).help(remedy)
    }
}

impl From<SelfCheckError> for VerbError {
    fn from(error: SelfCheckError) -> Self {
        Self::new(error.to_string())
    }
}
