//! Why two reports have no comparison.

use goodput_core::{Boundary, OutOfRange};

/// Why two reports have no comparison.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// A fleet against a job.
    #[error("`schema`: BEFORE is of a {before}, AFTER of a {after}: compare two reports of one verb")]
    Scopes {
        /// Scope before.
        before: String,
        /// Scope after.
        after: String,
    },
    /// The same report twice.
    #[error("BEFORE and AFTER are the same report: name the report of the changed job or fleet second")]
    Same,
    /// A window of no or negative length.
    #[error(
        "{side}: `contract.window` is empty (from_ns {from_ns}, to_ns {to_ns}): account a window with --from and --to"
    )]
    EmptyWindow {
        /// `BEFORE` or `AFTER`.
        side: &'static str,
        /// Its start.
        from_ns: i128,
        /// Its end.
        to_ns: i128,
    },
    /// One-time costs are repaid over time.
    #[error(
        "`contract.window`: BEFORE is {before_h:.2} h long, AFTER {after_h:.2} h: one-time costs are repaid over time, so \
         ratios need windows of equal length (within 5%); account both with --from and --to"
    )]
    Lengths {
        /// Hours before.
        before_h: f64,
        /// Hours after.
        after_h: f64,
    },
    /// The same hours on both sides.
    #[error(
        "`contract.window`: both windows hold the same {shared_h:.2} h of job {job}: they would stand on both sides; \
         account windows before and after the change"
    )]
    Overlap {
        /// Hours that both hold.
        shared_h: f64,
        /// The job.
        job: String,
    },
    /// In service against installed.
    #[error(
        "`contract.denominator`: BEFORE divides by {before}, AFTER by {after}: account both with the same --denominator"
    )]
    Denominators {
        /// Before.
        before: String,
        /// After.
        after: String,
    },
    /// Arithmetic against bandwidth.
    #[error(
        "`contract.ideals`: BEFORE divides by {before}, AFTER by {after}: program factors of different ideals have no ratio"
    )]
    Ideals {
        /// Before.
        before: String,
        /// After.
        after: String,
    },
    /// Nothing to divide by.
    #[error("{side}: {boundary} goodput is {found}: {needed}")]
    NoFactor {
        /// `BEFORE` or `AFTER`.
        side: &'static str,
        /// The factor.
        boundary: Boundary,
        /// What the report says.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// A job has no pool.
    #[error(
        "--lever pool: a report of one job has no scheduling goodput; compare two reports of goodput account"
    )]
    NoPool,
    /// A training report has no deployment.
    #[error("the lever of a deployment is for two reports of goodput serving")]
    NoDeployment,
    /// A deployment has one product.
    #[error("--lever: reports of goodput serving are judged on the deployment's own product; leave it out")]
    NoLever,
    /// A serving fleet against training.
    #[error(
        "`schema`: BEFORE is {before}, AFTER is {after}: serving has ideals of its own (memory bandwidth, arithmetic of prompts) and has no \
         ratio with training; compare two reports of goodput serving, or two of training"
    )]
    ServingAndTraining {
        /// Schema before.
        before: String,
        /// Schema after.
        after: String,
    },
    /// Several deployments have no common factor.
    #[error(
        "{side}: `rows` holds {names}: rows have ideals of their own and are not averaged; account the log of one deployment on one kind of device"
    )]
    Deployments {
        /// `BEFORE` or `AFTER`.
        side: &'static str,
        /// The rows.
        names: String,
    },
    /// Other weights, another device.
    #[error(
        "`rows[0].basis`: BEFORE divides by {before}, AFTER by {after}: program goodput of different ideals has no ratio; \
         judge such a change by tokens a held device-hour at the same load, under its quality gate"
    )]
    Floors {
        /// Before.
        before: String,
        /// After.
        after: String,
    },
    /// A factor that is no number in the report.
    #[error(
        "{side}: `{field}` is {value}, expected a share between 0 and 1: the report is damaged or was edited"
    )]
    BadFigure {
        /// `BEFORE` or `AFTER`.
        side: &'static str,
        /// The field.
        field: String,
        /// What stands there.
        value: f64,
    },
    /// A condition of a report that is none.
    #[error(
        "{side}: `contract.conditions` names {field:?}, which is no condition of a contract: the report is of another version or was edited"
    )]
    UnknownCondition {
        /// `BEFORE` or `AFTER`.
        side: &'static str,
        /// The field.
        field: String,
    },
    /// An option out of its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}
