//! Bytes that kernels move, and the time that they take: ideal traffic, every operand read and every result written once a
//! kernel.

/// A matrix product followed by operations that work element by element or row by row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// Rows.
    pub tokens: f64,
    /// Width of the input.
    pub input: f64,
    /// Width of the output.
    pub output: f64,
    /// Operations after the product: activation, normalisation, …
    pub operations: f64,
    /// Bytes of a value.
    pub bytes: f64,
}

impl Chain {
    /// Each operation reads what the one before it wrote.
    #[must_use]
    pub fn unfused_bytes(&self) -> f64 {
        self.fused_bytes() + 2.0 * self.operations * self.tokens * self.output * self.bytes
    }

    /// One kernel: input and weights in, the result out.
    #[must_use]
    pub fn fused_bytes(&self) -> f64 {
        (self.tokens * self.input + self.input * self.output + self.tokens * self.output) * self.bytes
    }

    /// Unfused over fused.
    ///
    /// ```
    /// use goodput_decide::levers::traffic::Chain;
    /// // Linear, activation and normalisation at hidden size 8,192 on 2,048 tokens.
    /// let chain = Chain { tokens: 2048.0, input: 8192.0, output: 8192.0, operations: 2.0, bytes: 2.0 };
    /// assert!((chain.ratio() - 5.0 / 3.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.unfused_bytes() / self.fused_bytes()
    }
}

/// Traffic of one head's attention that writes its scores and probabilities, over that of one that never does: the score
/// and probability matrices are written and read once each. An idealised bound (Dao et al. 2022).
///
/// ```
/// use goodput_decide::levers::traffic::tiled_attention_ratio;
/// assert!((tiled_attention_ratio(8192.0, 128.0) - 65.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn tiled_attention_ratio(tokens: f64, head: f64) -> f64 {
    let (operands, scores) = (4.0 * tokens * head, 4.0 * tokens * tokens);
    (operands + scores) / operands
}

/// Exchanges along the model axis of a node by ring all-reduce.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchanges {
    /// Rows of one message.
    pub tokens: f64,
    /// Width of one message.
    pub hidden: f64,
    /// Bytes of a value.
    pub bytes: f64,
    /// Exchanges a step.
    pub count: f64,
    /// Devices of the ring.
    pub devices: f64,
    /// Of one device in one direction, bytes a second.
    pub bytes_per_second: f64,
}

impl Exchanges {
    /// Bytes of one message.
    #[must_use]
    pub fn message_bytes(&self) -> f64 {
        self.tokens * self.hidden * self.bytes
    }

    /// Time of all of them: a ring moves 2(n-1)/n of each message, latency left out.
    #[must_use]
    pub fn time_s(&self) -> f64 {
        let moved = 2.0 * (self.devices - 1.0) / self.devices * self.message_bytes();
        self.count * moved / self.bytes_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked example E12.
    #[test]
    fn exchanges_on_the_node() {
        let step = Exchanges {
            tokens: 2217.0,
            hidden: 8192.0,
            bytes: 2.0,
            count: 320.0,
            devices: 8.0,
            bytes_per_second: 450e9,
        };
        assert!((step.message_bytes() / 1e6 - 36.3).abs() < 0.05);
        assert!((step.time_s() * 1e3 - 45.2).abs() < 0.05);
        assert!((step.time_s() / 0.180 - 0.25).abs() < 0.005);
        let token = Exchanges { tokens: 1.0, count: 2.0, ..step };
        assert_eq!(token.count * token.message_bytes(), 32_768.0);
    }
}
