(** A bound on the length of one owner's numbers over all groups: what is longer is scaled down as a whole. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows Rules Limits Totals.
Import ListNotations.
Local Open Scope Z_scope.

(** A number of a vector of length [r] that may be [most] long, rounded toward zero. *)
Definition shortened (most r z : Z) : Z := if r <=? most then z else Z.quot (z * most) r.

Lemma shortened_distance : forall most r z, 0 < r -> 0 <= most -> most < r -> r * Z.abs (shortened most r z) <= Z.abs z * most.
Proof. intros most r z R M L. unfold shortened. destruct (Z.leb_spec r most); [lia |].
  rewrite <- Z.quot_abs by lia. rewrite (Z.abs_eq r) by lia. rewrite Z.abs_mul, (Z.abs_eq most) by lia. rewrite Z.quot_div_nonneg by nia. apply Z.mul_div_le. exact R.
Qed.

(** By the sum of distances. *)
Theorem shortened_sum : forall (w : row -> Z) G most r, 0 <= most -> sum (fun g => Z.abs (w g)) G <= r ->
  sum (fun g => Z.abs (shortened most r (w g))) G <= most.
Proof. intros w G most r M W. destruct (Z.leb_spec r most) as [L | L].
  - transitivity (sum (fun g => Z.abs (w g)) G); [| lia]. apply sum_le. intros g _. unfold shortened. destruct (Z.leb_spec r most); lia.
  - assert (r * sum (fun g => Z.abs (shortened most r (w g))) G <= r * most); [| nia].
    transitivity (most * sum (fun g => Z.abs (w g)) G); [| nia]. rewrite <- !sum_scale. apply sum_le. intros g _. pose proof (shortened_distance most r (w g)). lia.
Qed.

(** By the sum of squares: [r] is a whole number whose square is no less. *)
Theorem shortened_squares : forall (w : row -> Z) G most r, 0 <= most -> 0 <= r -> sum (fun g => w g * w g) G <= r * r ->
  sum (fun g => shortened most r (w g) * shortened most r (w g)) G <= most * most.
Proof. intros w G most r M R W. destruct (Z.leb_spec r most) as [L | L].
  - transitivity (sum (fun g => w g * w g) G); [| nia]. apply sum_le. intros g _. unfold shortened. destruct (Z.leb_spec r most); lia.
  - set (S := sum (fun g => shortened most r (w g) * shortened most r (w g)) G). assert (r * r * S <= r * r * (most * most)) as X; [| nia]. unfold S.
    transitivity (most * most * sum (fun g => w g * w g) G); [| nia]. rewrite <- !sum_scale. apply sum_le. intros g _.
    pose proof (shortened_distance most r (w g)) as D. set (s := shortened most r (w g)) in *. assert (r * Z.abs s <= Z.abs (w g) * most) as E by lia.
    assert ((r * Z.abs s) * (r * Z.abs s) <= (Z.abs (w g) * most) * (Z.abs (w g) * most)) as F by (apply Z.mul_le_mono_nonneg; nia).
    assert (Z.abs s * Z.abs s = s * s) by (apply Z.abs_square). assert (Z.abs (w g) * Z.abs (w g) = w g * w g) by (apply Z.abs_square). nia.
Qed.

Section Vectors.

Variable owner_column : table -> nat.
Variables (P : list row -> Prop) (K : nat) (low high : Z) (f : contribution) (c : nat) (nm : value -> value) (q : query).
Hypothesis F : bounded P K low high f.
Hypothesis Q : owned owner_column c nm q.
Hypothesis L : forall D x, P (mine c x (q D)).

(** Totals whose owners' vectors are no longer than [most], as the sum of distances. *)
Theorem lengths_one : forall most, (forall l G, P l -> NoDup G -> sum (fun g => Z.abs (f l g)) G <= most) ->
  forall u D D' G, NoDup G ->
  (removed owner_column u D D' -> sum (fun g => Z.abs (move f c q D D' g)) G <= most) /\
  (changed owner_column u D D' -> sum (fun g => Z.abs (move f c q D D' g)) G <= 2 * most).
Proof. intros most B u D D' G N. pose proof (B _ G (L D (nm u)) N) as X. pose proof (B _ G (L D' (nm u)) N) as Y. split; intros H.
  - rewrite (sum_same _ _ (fun g => Z.abs (f (mine c (nm u) (q D)) g)) G); [exact X |].
    intros g _. destruct H as [C A]. unfold move. rewrite (moved _ _ _ _ _ _ F _ _ _ Q L u D D' g C), (owned_absent _ _ _ _ Q u D' A), (bounded_nothing _ _ _ _ _ F). rewrite Z.sub_0_r. reflexivity.
  - transitivity (sum (fun g => Z.abs (f (mine c (nm u) (q D)) g) + Z.abs (f (mine c (nm u) (q D')) g)) G); [| rewrite <- sum_plus; lia].
    apply sum_le. intros g _. unfold move. rewrite (moved _ _ _ _ _ _ F _ _ _ Q L u D D' g H). lia.
Qed.

(** The same as the sum of squares. *)
Theorem lengths_two : forall most, (forall l G, P l -> NoDup G -> sum (fun g => f l g * f l g) G <= most * most) ->
  forall u D D' G, NoDup G ->
  (removed owner_column u D D' -> sum (fun g => move f c q D D' g * move f c q D D' g) G <= most * most) /\
  (changed owner_column u D D' -> sum (fun g => move f c q D D' g * move f c q D D' g) G <= 4 * (most * most)).
Proof. intros most B u D D' G N. pose proof (B _ G (L D (nm u)) N) as X. pose proof (B _ G (L D' (nm u)) N) as Y. split; intros H.
  - rewrite (sum_same _ _ (fun g => f (mine c (nm u) (q D)) g * f (mine c (nm u) (q D)) g) G); [exact X |].
    intros g _. destruct H as [C A]. unfold move. rewrite (moved _ _ _ _ _ _ F _ _ _ Q L u D D' g C), (owned_absent _ _ _ _ Q u D' A), (bounded_nothing _ _ _ _ _ F). rewrite Z.sub_0_r. reflexivity.
  - transitivity (sum (fun g => 2 * (f (mine c (nm u) (q D)) g * f (mine c (nm u) (q D)) g) + 2 * (f (mine c (nm u) (q D')) g * f (mine c (nm u) (q D')) g)) G);
      [| rewrite <- sum_plus, !sum_scale; lia]. apply sum_le. intros g _. unfold move. rewrite (moved _ _ _ _ _ _ F _ _ _ Q L u D D' g H).
    set (a := f _ g). set (b := f _ g). pose proof (Z.square_nonneg (a + b)). nia.
Qed.

End Vectors.
