//! Momentum: the effect of updates without a gradient, and the two kinds of updates with one.

use super::{OptimizerConfig, OptimizerKind};
use crate::math::activation::mul_add;
use crate::math::level::by_level;

/// The effect of updates without a gradient on a row: velocity × `decay`, value + velocity × `drift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Idle {
    pub(super) decay: f32,
    pub(super) drift: f32,
}

impl Idle {
    /// No updates in between.
    pub(super) const NONE: Idle = Idle { decay: 1.0, drift: 0.0 };
}

/// The effect of idling from an earlier update to `updates`.
pub(super) struct Idles<'a> {
    config: &'a OptimizerConfig,
    updates: u64,
    /// Factors by the number of updates in between, computed once, because most rows were last touched a few updates
    /// ago.
    recent: Vec<Idle>,
}

impl Idles<'_> {
    pub(super) fn up_to(config: &OptimizerConfig, updates: u64) -> Idles<'_> {
        let recent = if config.kind.is_lazy() {
            (0..=updates.min(256)).map(|gap| config.idle(updates - gap, updates)).collect()
        } else {
            Vec::new()
        };
        Idles { config, updates, recent }
    }

    pub(super) fn since(&self, update: u64) -> Idle {
        let known = self.recent.get((self.updates - update) as usize);
        known.copied().unwrap_or_else(|| self.config.idle(update, self.updates))
    }
}

impl OptimizerConfig {
    /// Returns the drift from what is stored after update `from` to what is stored after update `to`.
    fn idle(&self, from: u64, to: u64) -> Idle {
        if self.kind == OptimizerKind::Momentum {
            return self.landing(from, to);
        }
        // Θ_to − Θ_from = Δ_from · Σ_{j = from+2}^{to+1} Π_{k = from+1}^{j} μ_k
        let (decay, _) = self.momentum.idle(from + 1, to);
        let (_, drift) = self.momentum.idle(from + 2, to + 1);
        Idle { decay: decay as f32, drift: (self.momentum.at(from + 1) * drift) as f32 }
    }

    /// Returns the drift from what is stored after update `from` to Λ after update `to`.
    pub(super) fn landing(&self, from: u64, to: u64) -> Idle {
        // Λ_to − Λ_from = Δ_from · Σ_{j = from+1}^{to} Π_{k = from+1}^{j} μ_k
        let (decay, drift) = self.momentum.idle(from + 1, to);
        // Nesterov momentum stores Θ_from = Λ_from + μ_{from+1} Δ_from.
        let ahead = if self.kind == OptimizerKind::Nesterov { self.momentum.at(from + 1) } else { 0.0 };
        Idle { decay: decay as f32, drift: (drift - ahead) as f32 }
    }
}

by_level! {
    /// Applies the effect of idling, Θ ← Θ + drift·Δ and Δ ← decay·Δ, and then Δ ← μΔ − εg; Λ ← Λ + Δ = Θ − εg; Θ ← Λ
    /// + μ'Δ.
    pub(super) fn nesterov(
        value: &mut [f32], velocity: &mut [f32], gradient: &[f32], idle: Idle, rate: f32, momentum: f32, lookahead: f32,
    ) = nesterov_body
}

#[inline(always)]
fn nesterov_body<const FMA: bool>(
    value: &mut [f32],
    velocity: &mut [f32],
    gradient: &[f32],
    idle: Idle,
    rate: f32,
    momentum: f32,
    lookahead: f32,
) {
    for ((value, velocity), &g) in value.iter_mut().zip(velocity).zip(gradient) {
        let now = mul_add::<FMA>(*velocity, idle.drift, *value);
        let step = rate * g;
        *velocity = mul_add::<FMA>(momentum, *velocity * idle.decay, step);
        *value = mul_add::<FMA>(lookahead, *velocity, now + step);
    }
}

by_level! {
    /// Applies the effect of idling, Λ ← Λ + drift·Δ and Δ ← decay·Δ, and then Δ ← μΔ − εg; Λ ← Λ + Δ.
    pub(super) fn plain(
        value: &mut [f32], velocity: &mut [f32], gradient: &[f32], idle: Idle, rate: f32, momentum: f32,
    ) = plain_body
}

#[inline(always)]
fn plain_body<const FMA: bool>(
    value: &mut [f32],
    velocity: &mut [f32],
    gradient: &[f32],
    idle: Idle,
    rate: f32,
    momentum: f32,
) {
    for ((value, velocity), &g) in value.iter_mut().zip(velocity).zip(gradient) {
        let now = mul_add::<FMA>(*velocity, idle.drift, *value);
        *velocity = mul_add::<FMA>(momentum, *velocity * idle.decay, rate * g);
        *value = now + *velocity;
    }
}
