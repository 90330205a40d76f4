//! Updates compared with f64 implementations that move every number at every update.

use super::support::relative_difference;
use clickvec::internals::encoder::{Gradients, Group, Tensor, TensorKind};
use clickvec::internals::math::Matrix;
use clickvec::internals::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
use clickvec::internals::rng;
use clickvec::train::OptimizerKind;
use rand::RngExt as _;

fn tensor(kind: TensorKind, rows: usize, columns: usize, seed: u64) -> Tensor {
    let mut stream = rng::stream(seed, "tensor", 0);
    let data = (0..rows * columns).map(|_| stream.random::<f32>() - 0.5).collect();
    let groups = vec![Group { name: "w".to_owned(), width: columns }];
    Tensor::new(kind, groups, Matrix::from_vec(rows, columns, data))
}

fn config(kind: OptimizerKind, learning_rate: f32, momentum: MomentumSchedule) -> OptimizerConfig {
    OptimizerConfig { kind, learning_rate, clip_norm: None, momentum }
}

/// Nesterov momentum as printed, Δ ← μΔ − ε∇L(Λ + μΔ), Λ ← Λ + Δ, or the plain one, with ∇L(Λ), for every number.
struct Twin {
    kind: OptimizerKind,
    value: Vec<f64>,
    velocity: Vec<f64>,
}

impl Twin {
    fn new(kind: OptimizerKind, tensor: &Tensor) -> Twin {
        let value: Vec<f64> = tensor.value.data().iter().map(|&x| f64::from(x)).collect();
        Twin { kind, velocity: vec![0.0; value.len()], value }
    }

    /// Where the gradient is taken: Λ + μΔ, or Λ.
    fn ahead(&self, momentum: f64, i: usize) -> f64 {
        let share = if self.kind == OptimizerKind::Nesterov { momentum } else { 0.0 };
        self.value[i] + share * self.velocity[i]
    }

    fn update(&mut self, momentum: f64, rate: f64, i: usize, gradient: f64) {
        self.velocity[i] = momentum * self.velocity[i] - rate * gradient;
        self.value[i] += self.velocity[i];
    }
}

const ROWS: usize = 300;
const WIDTH: usize = 3;
const UPDATES: u64 = 20_000;

/// Whether update `k` touches a row. μ changes at 401 and at 19,601.
fn touches(row: usize, k: u64) -> bool {
    match row {
        0 => true,
        1 => k % 2 == 1,
        2 => k % 1001 == 5,
        3 => k % 8001 == 7,
        // Idle across the first change of μ, across the last, across both, and starting at either.
        4 => k == 300 || k == 700,
        5 => k == 19_500 || k == 19_900,
        6 => k == 399 || k == 19_700,
        7 => k == 400,
        8 => k == 19_601,
        9 => k == 1 || k == UPDATES,
        // Touched once in the middle and never read again; and never touched.
        10 => k == 10_000,
        11 => false,
        // The other rows, now and then together, so that a table is cut into several tasks.
        _ => k % 500 == 3 || (row as u64 * 7919 + k).is_multiple_of(97),
    }
}

/// At the point where the gradient is taken it pulls towards 1, with another force for every number.
fn gradient(k: u64, i: usize, at: f64) -> f64 {
    let noise = ((k * 31 + i as u64 * 17) as f64 * 0.61).sin();
    0.05 * (1 + i % 3) as f64 * (at - 1.0) + noise
}

/// The lazy f32 update compared with the dense f64 one: every row whenever it is read, and all at the end.
///
/// Tolerance: a velocity adds up 1/(1 − 0.995) = 200 steps, and a value as many velocities, each rounded at 6e-8; the
/// pull towards a target damps old roundings. Values are about 1, so a few hundred roundings come to 2e-5, while an
/// update left out or counted twice makes 1e-3.
fn lazy_is_the_dense_update(kind: OptimizerKind) {
    const TOLERANCE: f64 = 2e-5;
    let schedule = MomentumSchedule::papers(UPDATES);
    let changes: Vec<u64> = (2..=UPDATES).filter(|&k| schedule.at(k) != schedule.at(k - 1)).collect();
    assert_eq!(changes, [401, 19_601]);
    assert_eq!((schedule.at(1), schedule.at(10_000), schedule.at(UPDATES)), (0.9, 0.995, 0.9));

    let rate = 2e-4f32;
    let mut tensors = vec![tensor(TensorKind::Input, ROWS, WIDTH, 1), tensor(TensorKind::Dense, 2, 5, 2)];
    let mut twins = [Twin::new(kind, &tensors[0]), Twin::new(kind, &tensors[1])];
    let mut optimizer = Optimizer::new(config(kind, rate, schedule.clone()), &mut tensors);
    let mut gradients = Gradients::default();
    let close = |found: f32, expected: f64, what: &dyn Fn() -> String| {
        let error = (f64::from(found) - expected).abs();
        assert!(error < TOLERANCE * expected.abs().max(1.0), "{}: {found} against {expected}", what());
    };
    for k in 1..=UPDATES {
        let momentum = schedule.at(k);
        let touched: Vec<u32> = (0..ROWS).filter(|&row| touches(row, k)).map(|row| row as u32).collect();
        optimizer.prepare(&mut tensors, &touched);
        let mut of_table = Matrix::zeros(touched.len(), WIDTH);
        let mut forces = vec![0.0; ROWS * WIDTH];
        for (place, &row) in touched.iter().enumerate() {
            let read = tensors[0].row(row as usize);
            for column in 0..WIDTH {
                let i = row as usize * WIDTH + column;
                let ahead = twins[0].ahead(momentum, i);
                close(read[column], ahead, &|| format!("row {row} read by update {k}"));
                forces[i] = gradient(k, i, ahead);
                of_table.row_mut(place)[column] = forces[i] as f32;
            }
        }
        let mut of_dense = Matrix::zeros(2, 5);
        for i in 0..10 {
            let ahead = twins[1].ahead(momentum, i);
            close(tensors[1].value.data()[i], ahead, &|| format!("dense number {i} read by update {k}"));
            of_dense.data_mut()[i] = gradient(k, i, ahead) as f32;
        }
        for (i, &force) in forces.iter().enumerate() {
            twins[0].update(momentum, f64::from(rate), i, force);
        }
        for i in 0..10 {
            twins[1].update(momentum, f64::from(rate), i, f64::from(of_dense.data()[i]));
        }
        gradients.tensors = vec![of_table, of_dense];
        gradients.table_rows = (0..touched.len() as u32).collect();
        optimizer.apply(&mut tensors, &touched, &gradients, 1.0);
        // Λ of all rows, read during the run and at its end.
        if k % 4999 == 0 || [400, 401, 19_600, 19_601, UPDATES].contains(&k) {
            let (parameters, velocities) = (optimizer.parameters(&tensors), optimizer.velocities(&tensors));
            for (t, twin) in twins.iter().enumerate() {
                for i in 0..twin.value.len() {
                    let what = || format!("after update {k}: tensor {t}, number {i}");
                    close(parameters[t].value.data()[i], twin.value[i], &what);
                    // A velocity is a few thousandths, so compare with its own size.
                    let error = (f64::from(velocities[t].value.data()[i]) - twin.velocity[i]).abs();
                    assert!(error < 1e-6, "{}: velocity off by {error:e} of {:e}", what(), twin.velocity[i]);
                }
            }
        }
    }
    assert_eq!(optimizer.updates(), UPDATES);
    let at_the_end = optimizer.parameters(&tensors);
    assert_eq!(at_the_end[0].value.row(11), tensor(TensorKind::Input, ROWS, WIDTH, 1).value.row(11), "never touched");
    assert_eq!(at_the_end[1].value, tensors[1].value, "after the last update Θ is Λ");
}

#[test]
fn lazy_nesterov_is_the_dense_update() {
    lazy_is_the_dense_update(OptimizerKind::Nesterov);
}

#[test]
fn lazy_plain_momentum_is_the_dense_update() {
    lazy_is_the_dense_update(OptimizerKind::Momentum);
}

/// L = p²/2 from p = 1 with ε = 0.1 and μ = 0.9: Δ = −0.1, −0.18, −0.234.
#[test]
fn plain_momentum_by_hand() {
    for kind in [TensorKind::Dense, TensorKind::Input] {
        let mut tensors = vec![tensor(kind, 1, 1, 1)];
        tensors[0].value.data_mut()[0] = 1.0;
        let settings = config(OptimizerKind::Momentum, 0.1, MomentumSchedule::constant(0.9, 3));
        let mut optimizer = Optimizer::new(settings, &mut tensors);
        let mut gradients = Gradients::default();
        gradients.table_rows = vec![0];
        for expected in [0.9, 0.72, 0.486] {
            optimizer.prepare(&mut tensors, &[0]);
            let read = if kind == TensorKind::Input { tensors[0].row(0)[0] } else { tensors[0].value.data()[0] };
            gradients.tensors = vec![Matrix::from_vec(1, 1, vec![read])];
            optimizer.apply(&mut tensors, &[0], &gradients, 1.0);
            let found = optimizer.parameters(&tensors)[0].value.data()[0];
            assert!((found - expected).abs() < 1e-6, "{kind:?}: {found}, expected {expected}");
        }
    }
}

/// The position after `updates` of a row that only update 1 touched.
fn drifted(updates: u64) -> (f64, f64) {
    let mut tensors = vec![tensor(TensorKind::Input, 1, 1, 3)];
    tensors[0].value.data_mut()[0] = 0.0;
    let momentum = MomentumSchedule::constant(0.995, 30_000);
    let mut optimizer = Optimizer::new(config(OptimizerKind::Nesterov, 1.0, momentum), &mut tensors);
    let mut gradients = Gradients::default();
    // Idle until `updates` − 1, then a step of 1, then idle for one update.
    for k in 1..=updates {
        let touched: &[u32] = if k + 1 == updates { &[0] } else { &[] };
        optimizer.prepare(&mut tensors, touched);
        gradients.tensors = vec![Matrix::from_vec(touched.len(), 1, vec![-1.0; touched.len()])];
        gradients.table_rows = (0..touched.len() as u32).collect();
        optimizer.apply(&mut tensors, touched, &gradients, 1.0);
    }
    (f64::from(optimizer.parameters(&tensors)[0].value.data()[0]), 1.0 + 0.995)
}

/// Why no running sums of products are used: Δ·(S_n − S_m)/P_m with P_k = Π μ and S_k = Σ P_j cancels.
#[test]
fn differences_of_running_sums_would_fail_where_this_does_not() {
    let naive = |updates: u64| {
        let (mut product, mut sum, mut sums) = (1.0f64, 0.0f64, Vec::new());
        let mut products = Vec::new();
        for _ in 0..updates {
            product *= 0.995;
            sum += product;
            products.push(product);
            sums.push(sum);
        }
        // The row is touched by the last update but one.
        let (last, touched) = (updates as usize - 1, updates as usize - 2);
        1.0 + (sums[last] - sums[touched]) / products[touched]
    };
    let worst =
        |range: std::ops::Range<u64>| range.map(|updates| (naive(updates) - 1.995).abs() / 0.995).fold(0.0, f64::max);
    assert!(worst(6000..6100) > 0.01, "{}", worst(6000..6100));
    assert!(worst(7400..7500) > 0.99, "{}", worst(7400..7500));
    for updates in [3, 6050, 7450, 20_000] {
        let (found, expected) = drifted(updates);
        assert!((found - expected).abs() < 1e-6, "after {updates}: {found}");
    }
}

#[test]
fn schedules() {
    let constant = MomentumSchedule::constant(0.7, 5);
    assert_eq!([1, 5, 6, 100].map(|k| constant.at(k)), [0.7, 0.7, 0.0, 0.0]);
    let each = MomentumSchedule::each(&[0.1, 0.2, 0.3]);
    assert_eq!([1, 2, 3, 4].map(|k| each.at(k)), [0.1, 0.2, 0.3, 0.0]);
    let papers = MomentumSchedule::papers(100);
    assert_eq!([1, 2, 3, 98, 99, 100, 101].map(|k| papers.at(k)), [0.9, 0.9, 0.995, 0.995, 0.9, 0.9, 0.0]);
    // Too few updates for edges of 2 %.
    let short = MomentumSchedule::papers(3);
    assert_eq!([1, 2, 3, 4].map(|k| short.at(k)), [0.995, 0.995, 0.995, 0.0]);
}

/// Compares some rows and updates with a naive f64 implementation. Returns the rows that were touched.
fn against_naive(kind: OptimizerKind, clip: Option<f32>, mut naive: impl FnMut(u64, usize, f64) -> f64) {
    const UPDATES: u64 = 200;
    let first = vec![tensor(TensorKind::Input, 200, 3, 4), tensor(TensorKind::Dense, 3, 4, 5)];
    let mut tensors = first.clone();
    let rate = 0.01f32;
    let settings = OptimizerConfig { clip_norm: clip, ..config(kind, rate, MomentumSchedule::papers(UPDATES)) };
    let mut optimizer = Optimizer::new(settings, &mut tensors);
    let mut expected: Vec<f64> =
        tensors.iter().flat_map(|tensor| tensor.value.data().iter().map(|&x| f64::from(x))).collect();
    let mut gradients = Gradients::default();
    let mut stream = rng::stream(8, "gradients", 0);
    for k in 1..=UPDATES {
        // Rows 0 … 9 are never touched.
        let touched: Vec<u32> = (10..200).filter(|row| (row * 7 + k as u32).is_multiple_of(5)).collect();
        optimizer.prepare(&mut tensors, &touched);
        let mut random = |rows: usize, columns: usize| {
            let data = (0..rows * columns).map(|_| stream.random::<f32>() - 0.45).collect();
            Matrix::from_vec(rows, columns, data)
        };
        gradients.tensors = vec![random(touched.len(), 3), random(3, 4)];
        gradients.table_rows = (0..touched.len() as u32).collect();
        let squares: f64 = gradients.tensors.iter().flat_map(|g| g.data()).map(|&g| f64::from(g).powi(2)).sum();
        let norm = squares.sqrt();
        let scale = clip.map_or(1.0, |limit| (f64::from(limit) / norm).min(1.0));
        optimizer.apply(&mut tensors, &touched, &gradients, norm);
        let places = touched.iter().flat_map(|&row| (0..3).map(move |column| row as usize * 3 + column));
        let numbers = gradients.tensors.iter().flat_map(|g| g.data());
        for (i, &g) in places.chain(600..612).zip(numbers) {
            expected[i] -= f64::from(rate) * naive(k, i, scale * f64::from(g));
        }
    }
    let found: Vec<f32> = tensors.iter().flat_map(|tensor| tensor.value.data().iter().copied()).collect();
    let expected: Vec<f32> = expected.into_iter().map(|x| x as f32).collect();
    // 200 updates of about 0.01, each rounded at 6e-8 of a value of about 1.
    let difference = relative_difference(&found, &expected);
    assert!(difference < 1e-5, "{kind:?}: {difference:e}");
    assert_eq!(found[..30], first[0].value.data()[..30], "untouched rows are left alone");
    assert_ne!(found[30..600], first[0].value.data()[30..]);
    let parameters = optimizer.parameters(&tensors);
    assert_eq!(parameters, tensors, "nothing is lazy here");
}

#[test]
fn adam_is_adam() {
    let (mut mean, mut square) = (vec![0.0; 612], vec![0.0; 612]);
    against_naive(OptimizerKind::Adam, None, |k, i, g| {
        mean[i] = 0.9 * mean[i] + 0.1 * g;
        square[i] = 0.999 * square[i] + 0.001 * g * g;
        let corrected: f64 = square[i] / (1.0 - 0.999f64.powi(k as i32));
        mean[i] / (1.0 - 0.9f64.powi(k as i32)) / (corrected.sqrt() + 1e-8)
    });
}

#[test]
fn plain_descent_is_plain_clipped_or_not() {
    against_naive(OptimizerKind::Sgd, None, |_, _, g| g);
    against_naive(OptimizerKind::Sgd, Some(0.5), |_, _, g| g);
}

#[test]
fn a_gradient_is_cut_above_the_limit_and_not_at_it() {
    // (3, 4) has norm 5.
    for (limit, expected) in [(5.0f32, [3.0, 4.0]), (6.0, [3.0, 4.0]), (4.999, [2.9994, 3.9992]), (2.5, [1.5, 2.0])] {
        for kind in [OptimizerKind::Sgd, OptimizerKind::Nesterov, OptimizerKind::Momentum] {
            let mut tensors = vec![tensor(TensorKind::Dense, 1, 2, 1)];
            tensors[0].value.data_mut().fill(0.0);
            let settings =
                OptimizerConfig { clip_norm: Some(limit), ..config(kind, 1.0, MomentumSchedule::constant(0.0, 1)) };
            let mut optimizer = Optimizer::new(settings, &mut tensors);
            let mut gradients = Gradients::default();
            gradients.tensors = vec![Matrix::from_vec(1, 2, vec![-3.0, -4.0])];
            let norm = Optimizer::norm(&tensors, &gradients);
            assert_eq!(norm, 5.0);
            optimizer.apply(&mut tensors, &[], &gradients, norm);
            let found = tensors[0].value.data();
            assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{limit}: {found:?}");
        }
    }
}
