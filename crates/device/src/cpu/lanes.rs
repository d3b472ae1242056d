//! Wide instructions where the processor has them. Released binaries are built for any x86-64, so each kernel is compiled for three kinds of it, and the
//! choice is made when it runs.

/// How wide the processor's vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// What every machine of this kind has.
    Base,
    /// AVX2 with fused multiply-add.
    Wide,
    /// AVX-512.
    Widest,
}

/// What kernels use: all that the processor has, less in tests of what other processors would do.
#[inline]
pub(crate) fn width() -> Width {
    #[cfg(test)]
    return limit::get().min(found());
    #[cfg(not(test))]
    found()
}

/// What this processor has. The standard library remembers the answer.
#[inline]
fn found() -> Width {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            return Width::Widest;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Width::Wide;
        }
    }
    Width::Base
}

/// Compiles a function for each [`Width`] and calls the one that fits. `FUSED` is a constant in its body: whether multiply-add is one instruction.
macro_rules! vectorised {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident<$scalar:ident>($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $visibility fn $name<$scalar: $crate::Scalar>($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, unused_variables, dead_code, non_upper_case_globals)]
            fn body<$scalar: $crate::Scalar, const FUSED: bool>($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn widest<$scalar: $crate::Scalar>($($argument: $type),*) $(-> $result)? {
                    body::<$scalar, true>($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn wide<$scalar: $crate::Scalar>($($argument: $type),*) $(-> $result)? {
                    body::<$scalar, true>($($argument),*)
                }
                match $crate::cpu::lanes::width() {
                    // SAFETY: the processor has these instructions, as `width` just found.
                    #[allow(unsafe_code)]
                    $crate::cpu::lanes::Width::Widest => return unsafe { widest($($argument),*) },
                    // SAFETY: the same.
                    #[allow(unsafe_code)]
                    $crate::cpu::lanes::Width::Wide => return unsafe { wide($($argument),*) },
                    $crate::cpu::lanes::Width::Base => {}
                }
            }
            body::<$scalar, false>($($argument),*)
        }
    };
}

pub(crate) use vectorised;

/// Partial sums that are kept apart, so that adding is not one long chain: as many as the widest vector holds `f32`.
pub(crate) const LANES: usize = 16;

/// Σ f(x, y) with [`LANES`] partial sums, in an order that does not depend on the processor.
#[inline(always)]
pub(crate) fn sum_pairs<S: crate::Scalar>(x: &[S], y: &[S], f: impl Fn(S, S) -> S) -> S {
    let mut lanes = [S::ZERO; LANES];
    let (x_chunks, x_rest) = x.as_chunks::<LANES>();
    let (y_chunks, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for lane in 0..LANES {
            lanes[lane] += f(x[lane], y[lane]);
        }
    }
    for (lane, (&x, &y)) in x_rest.iter().zip(y_rest).enumerate() {
        lanes[lane] += f(x, y);
    }
    fold(lanes)
}

/// Σ f(x) with [`LANES`] partial sums.
#[inline(always)]
pub(crate) fn sum<S: crate::Scalar>(x: &[S], f: impl Fn(S) -> S) -> S {
    sum_pairs(x, x, |x, _| f(x))
}

/// The sum of the partial sums, pairwise.
#[inline(always)]
pub(crate) fn fold<S: crate::Scalar>(lanes: [S; LANES]) -> S {
    let mut lanes = lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            let other = lanes[lane + half];
            lanes[lane] += other;
        }
        half /= 2;
    }
    lanes[0]
}

/// How tests pretend to have a narrower processor, on their own thread.
#[cfg(test)]
pub(super) mod limit {
    use super::Width;
    use std::cell::Cell;

    thread_local! {
        static LIMIT: Cell<Width> = const { Cell::new(Width::Widest) };
    }

    pub(super) fn get() -> Width {
        LIMIT.get()
    }

    /// Runs a test once for each width up to this processor's.
    pub(in crate::cpu) fn each(test: impl Fn()) {
        for width in [Width::Base, Width::Wide, Width::Widest] {
            LIMIT.set(width);
            test();
        }
        LIMIT.set(Width::Widest);
    }
}
