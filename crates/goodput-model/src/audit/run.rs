//! The run that an audit is about.

use crate::architecture::{Architecture, ArchitectureError};
use crate::batch::BatchError;
use crate::device::{Device, Dtype, NoPeak};

/// What ran: the model, its sequences, and the devices.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) architecture: Architecture,
    pub(super) sequence_length: u64,
    pub(super) documents: Vec<u64>,
    devices: u64,
    pub(super) tensor_parallel: u64,
    pub(super) context_parallel: u64,
    pub(super) pipeline_parallel: u64,
    pub(super) gradient_accumulation: Option<u64>,
    pub(super) step: Option<u64>,
    pub(super) real_share: Option<f64>,
    pub(super) device: Option<(Device, Dtype)>,
    peak_flops_per_second: Option<f64>,
}

/// A run that cannot be audited.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AuditError {
    /// The model cannot be counted.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// The sequences do not fit the model.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// No peak.
    #[error(transparent)]
    NoPeak(#[from] NoPeak),
    /// A number that cannot be.
    #[error("{name} is {value}: expected a number above zero")]
    Number {
        /// What it is.
        name: &'static str,
        /// As given.
        value: f64,
    },
    /// A share that is none.
    #[error("{name} is {value}: expected a fraction {range}")]
    Share {
        /// What it is.
        name: &'static str,
        /// As given.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// A model that reads no tokens.
    #[error("{model} has no text model: its FLOPs do not follow from the tokens that a log prints")]
    NoTokens {
        /// The model.
        model: String,
    },
    /// Parallel sizes that the devices do not hold.
    #[error("tp {tp} x cp {cp} x pp {pp} does not divide {devices} devices")]
    Layout {
        /// Tensor parallel size.
        tp: u64,
        /// Context parallel size.
        cp: u64,
        /// Pipeline stages.
        pp: u64,
        /// Devices.
        devices: u64,
    },
    /// Documents that do not fill the sequence.
    #[error("the documents hold {found} tokens, more than the sequence's {sequence_length}, or none")]
    Documents {
        /// Tokens in the documents.
        found: u64,
        /// Tokens of the sequence.
        sequence_length: u64,
    },
}

impl Run {
    /// Sequences of one document each, data-parallel over `devices`.
    ///
    /// # Errors
    /// [`AuditError`] for a model that reads no tokens, a length or a number of devices of zero, or a model that cannot be counted.
    pub fn new(architecture: Architecture, sequence_length: u64, devices: u64) -> Result<Self, AuditError> {
        architecture.check()?;
        if architecture.text.is_none() && architecture.diffusion.is_none() {
            return Err(AuditError::NoTokens { model: architecture.name });
        }
        for (name, value) in [("the sequence length", sequence_length), ("the number of devices", devices)] {
            if value == 0 {
                return Err(AuditError::Number { name, value: 0.0 });
            }
        }
        Ok(Self {
            architecture,
            sequence_length,
            documents: vec![sequence_length],
            devices,
            tensor_parallel: 1,
            context_parallel: 1,
            pipeline_parallel: 1,
            gradient_accumulation: None,
            step: None,
            real_share: None,
            device: None,
            peak_flops_per_second: None,
        })
    }

    /// Lengths of the documents that share one sequence; what is left of it is padding.
    ///
    /// # Errors
    /// [`AuditError::Documents`] when they hold no token or more than the sequence.
    pub fn set_documents(&mut self, lengths: &[u64]) -> Result<(), AuditError> {
        let tokens = lengths.iter().try_fold(0_u64, |sum, length| sum.checked_add(*length));
        let found = tokens.unwrap_or(u64::MAX);
        if found == 0 || found > self.sequence_length {
            return Err(AuditError::Documents { found, sequence_length: self.sequence_length });
        }
        self.documents = lengths.to_vec();
        Ok(())
    }

    /// Tensor, context and pipeline parallel sizes.
    ///
    /// # Errors
    /// [`AuditError::Layout`] when their product does not divide the devices.
    pub fn set_layout(&mut self, tp: u64, cp: u64, pp: u64) -> Result<(), AuditError> {
        let replica = tp.checked_mul(cp).and_then(|product| product.checked_mul(pp));
        if !replica.is_some_and(|replica| replica > 0 && self.devices.is_multiple_of(replica)) {
            return Err(AuditError::Layout { tp, cp, pp, devices: self.devices });
        }
        (self.tensor_parallel, self.context_parallel, self.pipeline_parallel) = (tp, cp, pp);
        Ok(())
    }

    /// Micro-batches of an optimizer step.
    pub const fn set_gradient_accumulation(&mut self, micro_batches: Option<u64>) {
        self.gradient_accumulation = micro_batches;
    }

    /// Number of the step that the claims are about.
    pub const fn set_step(&mut self, step: Option<u64>) {
        self.step = step;
    }

    /// Tokens that are no padding, over all that were executed.
    ///
    /// # Errors
    /// [`AuditError::Share`] for a share that is not in (0, 1].
    pub fn set_real_share(&mut self, share: f64) -> Result<(), AuditError> {
        if !(share > 0.0 && share <= 1.0) {
            let name = "the share of real tokens";
            return Err(AuditError::Share { name, value: share, range: "above 0 and up to 1" });
        }
        self.real_share = Some(share);
        Ok(())
    }

    /// The device, and the dtype whose peak is the right one.
    ///
    /// # Errors
    /// [`AuditError::NoPeak`] when the device has none.
    pub fn set_device(&mut self, device: &Device, dtype: Dtype) -> Result<(), AuditError> {
        self.peak_flops_per_second = Some(device.peak(dtype)?);
        self.device = Some((device.clone(), dtype));
        Ok(())
    }

    /// The right peak of one device, in FLOP/s, over the device's own.
    ///
    /// # Errors
    /// [`AuditError::Number`] for a peak that is no positive number.
    pub fn set_peak(&mut self, flops_per_second: f64) -> Result<(), AuditError> {
        if !(flops_per_second.is_finite() && flops_per_second > 0.0) {
            return Err(AuditError::Number { name: "the peak", value: flops_per_second });
        }
        self.peak_flops_per_second = Some(flops_per_second);
        Ok(())
    }

    /// Name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.architecture.name
    }

    /// Devices of the job.
    #[must_use]
    pub const fn devices(&self) -> u64 {
        self.devices
    }

    /// The right peak of one device, in FLOP/s.
    #[must_use]
    pub const fn peak_flops_per_second(&self) -> Option<f64> {
        self.peak_flops_per_second
    }
}
