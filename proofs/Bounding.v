(** What bounds one owner's part of a total: the native operator, rankings with a final sum, and counts of distinct values. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows Rules Limits Totals.
Import ListNotations.
Local Open Scope Z_scope.

Definition clamp (low high z : Z) : Z := Z.max low (Z.min high z).

(** * The native operator: of an owner's groups the first [K] by a total order count, and in each a number is clamped *)

Definition bounding (k : row -> row) (sort : list row -> list row) (K : nat) (read : list row -> Z) (low high : Z)
  : contribution := fun l g =>
  if in_dec row_dec g (firstn K (sort (nodup row_dec (map k l)))) then clamp low high (read (group k g l)) else 0.

(** Groups in a total order: the same sequence, however they came. *)
Definition orders (sort : list row -> list row) : Prop :=
  (forall V, Permutation (sort V) V) /\ (forall V V', NoDup V -> Permutation V V' -> sort V = sort V').

Lemma bounding_bounded : forall k sort K read low high, orders sort ->
  (forall l l', Permutation l l' -> read l = read l') -> low <= high ->
  bounded any K (Z.min low 0) (Z.max high 0) (bounding k sort K read low high).
Proof. intros k sort K read low high [S T] R E. unfold bounding. split.
  - lia.
  - intros l l' g _ P. rewrite (T (nodup row_dec (map k l)) (nodup row_dec (map k l'))), (R (group k g l) (group k g l')).
    + reflexivity.
    + apply filter_permutation, P.
    + apply NoDup_nodup.
    + apply nodup_permutation. intros y. split; intros Y; (eapply Permutation_in; [| exact Y]); apply Permutation_map; [| apply Permutation_sym]; exact P.
  - intros g. simpl. assert (sort [] = []) as N by (apply Permutation_nil, Permutation_sym, S). rewrite N, firstn_nil. reflexivity.
  - intros l g _. destruct (in_dec _ _ _); unfold clamp; lia.
  - intros l G _ N H. transitivity (length (firstn K (sort (nodup row_dec (map k l))))); [| apply firstn_le_length].
    apply NoDup_incl_length; [exact N |]. intros g I. specialize (H g I). destruct (in_dec _ _ _) as [X | X] in H; [exact X | congruence].
Qed.

(** A number that describes all owners: which group's row has an owner's part does not matter, since whoever reads it adds all rows up. *)
Lemma of_all_bounded : forall (h : list row -> Z) most, 0 <= most ->
  (forall l l', Permutation l l' -> h l = h l') -> h [] = 0 -> (forall l, 0 <= h l <= most) ->
  bounded any 1 0 most (fun l g => if row_dec g [] then h l else 0).
Proof. intros h most E S Z R. split.
  - lia.
  - intros l l' g _ P. destruct (row_dec g []); [apply S, P | reflexivity].
  - intros g. destruct (row_dec g []); [exact Z | reflexivity].
  - intros l g _. destruct (row_dec g []); [apply R | lia].
  - intros l G _ N H. apply (NoDup_incl_length N (l' := [[]])). intros g I. specialize (H g I). destruct (row_dec g []); [left; congruence | congruence].
Qed.

(** * A final sum over rows of which each owner has few *)

Definition summed (k : row -> row) (number : row -> Z) : contribution := fun l g => sum number (group k g l).

(** Rows of one owner: in at most [K] groups, at most [m] in each, each with a number between two ends. *)
Definition limited (K m : nat) (k : row -> row) (number : row -> Z) (low high : Z) (l : list row) : Prop :=
  few m k l /\ varied K k l /\ (forall r, In r l -> low <= number r <= high).

Lemma sum_between : forall (number : row -> Z) low high l, (forall r, In r l -> low <= number r <= high) ->
  Z.of_nat (length l) * low <= sum number l <= Z.of_nat (length l) * high.
Proof. intros number low high l H. induction l as [| r l IH]; [simpl; lia |]. specialize (H r (or_introl eq_refl)) as R.
  assert (Z.of_nat (length l) * low <= sum number l <= Z.of_nat (length l) * high) as I by (apply IH; intros; apply H; right; assumption).
  cbn [length sum fold_right]. fold (sum number l). rewrite Nat2Z.inj_succ. lia.
Qed.

Lemma summed_bounded : forall K m k number low high, low <= 0 <= high ->
  bounded (limited K m k number low high) K (Z.of_nat m * low) (Z.of_nat m * high) (summed k number).
Proof. intros K m k number low high E. unfold summed. split.
  - nia.
  - intros l l' g _ P. apply sum_permutation, filter_permutation, P.
  - reflexivity.
  - intros l g [F [_ B]]. specialize (F g). pose proof (sum_between number low high (group k g l)) as S.
    assert (forall r, In r (group k g l) -> low <= number r <= high) as I by (intros r R; apply B; apply group_in in R; apply R). specialize (S I). nia.
  - intros l G [_ [V _]] N H. eapply Nat.le_trans; [| apply V]. apply NoDup_incl_length; [exact N |].
    intros g I. specialize (H g I). destruct (group k g l) as [| r rest] eqn:X; [simpl in H; congruence |].
    assert (In r (group k g l)) as R by (rewrite X; left; reflexivity). apply group_in in R. apply nodup_In, in_map_iff. exists r. intuition.
Qed.

(** The sum over all rows is the sum over owners, where each row is somebody's. *)
Lemma sum_by_owner : forall c k number rows g, (forall r, In r rows -> column c r <> Null) ->
  sum number (group k g rows) = total c (summed k number) rows g.
Proof. intros c k number rows g N. unfold total, summed. assert (forall V l, NoDup V -> (forall r, In r l -> In (column c r) V /\ column c r <> Null) ->
    sum number (group k g l) = sum (fun x => sum number (group k g (mine c x l))) V) as A.
  { intros V l NV. induction l as [| r l IH]; intros I.
    - simpl. symmetry. apply sum_zero. intros x _. destruct x; reflexivity.
    - assert (forall x, sum number (group k g (mine c x (r :: l))) = (if value_dec x (column c r) then sum number (group k g [r]) else 0)
          + sum number (group k g (mine c x l))) as S.
      { intros x. destruct (I r (or_introl eq_refl)) as [_ R]. destruct (value_dec x (column c r)) as [X | X].
        - replace (mine c x (r :: l)) with (r :: mine c x l).
          + unfold group. simpl. destruct (same (k r) g); simpl; lia.
          + unfold mine. subst x. destruct (column c r) eqn:C; [congruence | |]; simpl; rewrite C; (replace (is _ _) with true by (symmetry; apply is_true; reflexivity)); reflexivity.
        - replace (mine c x (r :: l)) with (mine c x l); [lia |]. unfold mine. destruct x; [reflexivity | |]; simpl;
            (replace (is (column c r) _) with false by (symmetry; apply not_true_iff_false; rewrite is_true; congruence)); reflexivity. }
      rewrite (sum_same _ _ _ V (fun x _ => S x)), <- sum_plus, <- IH by (intros s X; apply I; right; exact X). rewrite (sum_support _ value_dec _ [column c r] V).
      + simpl. destruct (value_dec (column c r) (column c r)); [| congruence]. unfold group. simpl. destruct (same (k r) g); simpl; lia.
      + repeat constructor. intros [].
      + exact NV.
      + intros x [X | []]. subst x. apply I. left. reflexivity.
      + intros x _ X. destruct (value_dec x (column c r)) as [Y | Y]; [| reflexivity]. exfalso. apply X. left. congruence. }
  apply A; [apply NoDup_nodup |]. intros r R. split; [apply nodup_In, in_map, R | apply N, R].
Qed.

(** * Counts of rows: histograms, and trees of bins *)

Lemma length_by_groups : forall k l V, NoDup V -> (forall r, In r l -> In (k r) V) ->
  Z.of_nat (length l) = sum (fun y => Z.of_nat (length (group k y l))) V.
Proof. intros k l V N. induction l as [| r l IH]; intros I.
  - symmetry. apply sum_zero. reflexivity.
  - cbn [length]. rewrite Nat2Z.inj_succ, IH by (intros; apply I; right; assumption). assert (forall y, Z.of_nat (length (group k y (r :: l)))
      = (if row_dec y (k r) then 1 else 0) + Z.of_nat (length (group k y l))) as S.
    { intros y. unfold group. simpl. destruct (row_dec y (k r)) as [Y | Y].
      - replace (same (k r) y) with true by (symmetry; apply same_true; congruence). cbn [length]. lia.
      - replace (same (k r) y) with false by (symmetry; apply not_true_iff_false; rewrite same_true; congruence). lia. }
    rewrite (sum_same _ _ _ V (fun y _ => S y)), <- sum_plus. rewrite (sum_support _ row_dec (fun y => if row_dec y (k r) then 1 else 0) [k r] V).
    + simpl. destruct (row_dec (k r) (k r)); [lia | congruence].
    + repeat constructor. intros [].
    + exact N.
    + intros y [Y | []]. subst y. apply I. left. reflexivity.
    + intros y _ Y. destruct (row_dec y (k r)); [| reflexivity]. exfalso. apply Y. left. congruence.
Qed.

(** An owner with at most [m] rows in each of at most [K] groups has at most K·m rows. *)
Lemma rows_of_groups : forall K m k l, few m k l -> varied K k l -> (length l <= K * m)%nat.
Proof. intros K m k l F V. apply Nat2Z.inj_le. rewrite (length_by_groups k l (nodup row_dec (map k l)) (NoDup_nodup _ _))
    by (intros r R; apply nodup_In, in_map, R). transitivity (sum (fun _ : row => Z.of_nat m) (nodup row_dec (map k l))).
  - apply sum_le. intros y _. apply inj_le, F.
  - assert (forall W : list row, sum (fun _ => Z.of_nat m) W = Z.of_nat (length W) * Z.of_nat m) as C.
    { induction W as [| y W IH]; [reflexivity |]. cbn [sum fold_right length]. fold (sum (fun _ : row => Z.of_nat m) W). rewrite IH. lia. } rewrite C. unfold varied in V. nia.
Qed.

(** In whatever bins rows are counted, all bins together count each row once: so an owner's bins sum up to at most the owner's rows. *)
Lemma bins_of_rows : forall k l G, NoDup G ->
  sum (fun g => Z.abs (summed k (fun _ => 1) l g)) G <= Z.of_nat (length l).
Proof. intros k l G N. assert (forall l : list row, sum (fun _ => 1) l = Z.of_nat (length l)) as C.
  { intros l'. induction l' as [| r l' IH]; [reflexivity |]. cbn [sum fold_right length]. fold (sum (fun _ : row => 1) l'). lia. }
  transitivity (sum (fun g => Z.of_nat (length (group k g l))) G).
  - apply sum_le. intros g _. unfold summed. rewrite C. lia.
  - set (V := nodup row_dec (map k l)). rewrite (length_by_groups k l (nodup row_dec (G ++ V)))
      by (apply NoDup_nodup || (intros r R; apply nodup_In, in_or_app; right; apply nodup_In, in_map, R)).
    rewrite (sum_split _ (fun y => if in_dec row_dec y G then true else false) _ (nodup row_dec (G ++ V))). rewrite (sum_permutation _ _ (filter _ (nodup row_dec (G ++ V))) G).
    + assert (forall W : list row, 0 <= sum (fun y => Z.of_nat (length (group k y l))) W) as P
        by (induction W as [| y W IH]; [simpl; lia |]; cbn [sum fold_right]; fold (sum (fun y => Z.of_nat (length (group k y l))) W); lia).
      match goal with |- _ <= _ + ?rest => assert (0 <= rest) by apply P end. lia.
    + apply NoDup_Permutation; [apply NoDup_filter, NoDup_nodup | exact N |]. intros y. rewrite filter_In, nodup_In, in_app_iff. destruct (in_dec row_dec y G); intuition discriminate.
Qed.

(** * Counts of distinct values *)

Definition distinct (k v : row -> row) (rows : list row) (g : row) : Z :=
  Z.of_nat (length (nodup row_dec (map v (group k g rows)))).

Section Distinct.

Variable owner_column : table -> nat.
Variables (c : nat) (nm : value -> value) (q : query) (k v : row -> row) (K m : nat).
Hypothesis Q : owned owner_column c nm q.
Hypothesis S : somebodys c q.
Hypothesis M : at_most m k c q.
Hypothesis V : kinds K k c q.

Lemma others_stay : forall u D D' r, changed owner_column u D D' ->
  In r (q D) -> column c r <> nm u -> In r (q D').
Proof. intros u D D' r C R X. destruct (owned_named _ _ _ _ Q D r R) as [w W]; [apply (S D), R |].
  assert (In r (mine c (nm w) (q D))) as I by (apply mine_in; repeat split; [exact R | congruence |]; rewrite W; apply (S D), R).
  eapply Permutation_in in I; [| apply (owned_depends _ _ _ _ Q w D D')].
  - apply mine_in in I. apply I.
  - apply C. congruence.
Qed.

Lemma distinct_at_most : forall u D D' g, changed owner_column u D D' ->
  distinct k v (q D) g <= distinct k v (q D') g + Z.of_nat (length (group k g (mine c (nm u) (q D)))).
Proof. intros u D D' g C. unfold distinct. rewrite <- Nat2Z.inj_add. apply inj_le. rewrite <- (map_length v (group k g (mine c (nm u) (q D)))), <- app_length.
  apply NoDup_incl_length; [apply NoDup_nodup |]. intros y Y. apply nodup_In, in_map_iff in Y.
  destruct Y as [r [E R]]. apply group_in in R. destruct R as [R G]. apply in_or_app. destruct (value_dec (column c r) (nm u)) as [X | X].
  - right. apply in_map_iff. exists r. split; [exact E |]. apply group_in. split; [| exact G]. apply mine_in. repeat split; [exact R | exact X |]. rewrite <- X. apply (S D), R.
  - left. apply nodup_In, in_map_iff. exists r. split; [exact E |]. apply group_in. split; [| exact G]. apply (others_stay u D D'); assumption.
Qed.

Lemma changed_back : forall u D D', changed owner_column u D D' -> changed owner_column u D' D.
Proof. intros u D D' C w W t. apply Permutation_sym, C, W. Qed.

Theorem distinct_moves_each : forall u D D' g, changed owner_column u D D' ->
  Z.abs (distinct k v (q D) g - distinct k v (q D') g) <= Z.of_nat m.
Proof. intros u D D' g C. pose proof (distinct_at_most u D D' g C) as A. pose proof (distinct_at_most u D' D g (changed_back _ _ _ C)) as B.
  pose proof (M D (nm u) g). pose proof (M D' (nm u) g). lia.
Qed.

Lemma distinct_stays : forall u D D' g, changed owner_column u D D' ->
  ~ In g (nodup row_dec (map k (mine c (nm u) (q D)))) -> ~ In g (nodup row_dec (map k (mine c (nm u) (q D')))) ->
  distinct k v (q D) g = distinct k v (q D') g.
Proof. intros u D D' g C X Y. assert (forall D, ~ In g (nodup row_dec (map k (mine c (nm u) (q D)))) -> group k g (mine c (nm u) (q D)) = []) as A.
  { intros E H. apply filter_none. intros r R. apply not_true_iff_false. rewrite same_true. intros G. apply H, nodup_In, in_map_iff. eauto. }
  pose proof (distinct_at_most u D D' g C) as L. pose proof (distinct_at_most u D' D g (changed_back _ _ _ C)) as R.
  rewrite A in L by exact X. rewrite A in R by exact Y. simpl in L, R. lia.
Qed.

Theorem distinct_moves_groups : forall u D D' G, changed owner_column u D D' -> NoDup G ->
  (forall g, In g G -> distinct k v (q D) g <> distinct k v (q D') g) -> (length G <= 2 * K)%nat.
Proof. intros u D D' G C N H. pose proof (V D (nm u)) as A. pose proof (V D' (nm u)) as B. unfold varied in *.
  transitivity (length (nodup row_dec (map k (mine c (nm u) (q D))) ++ nodup row_dec (map k (mine c (nm u) (q D'))))).
  - apply NoDup_incl_length; [exact N |]. intros g I. apply in_or_app. destruct (in_dec row_dec g (nodup row_dec (map k (mine c (nm u) (q D))))) as [X | X]; [left; exact X |].
    destruct (in_dec row_dec g (nodup row_dec (map k (mine c (nm u) (q D'))))) as [Y | Y]; [right; exact Y |]. exfalso. apply (H g I), (distinct_stays u); assumption.
  - rewrite app_length. lia.
Qed.

Theorem distinct_moves_groups_removed : forall u D D' G, removed owner_column u D D' -> NoDup G ->
  (forall g, In g G -> distinct k v (q D) g <> distinct k v (q D') g) -> (length G <= K)%nat.
Proof. intros u D D' G [C A] N H. eapply Nat.le_trans; [| apply (V D (nm u))]. apply NoDup_incl_length; [exact N |]. intros g I.
  destruct (in_dec row_dec g (nodup row_dec (map k (mine c (nm u) (q D))))) as [X | X]; [exact X |].
  exfalso. apply (H g I), (distinct_stays u); [exact C | exact X |]. rewrite (owned_absent _ _ _ _ Q u D' A). intros [].
Qed.

End Distinct.
