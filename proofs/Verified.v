(** What the verifier derives holds: the rules as one relation, its soundness, and what follows for totals. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows Rules Limits Totals Bounding Lengths.
Import ListNotations.

(** What is said of a plan. *)
Inductive judgement :=
  | Public
  | Owned (c : nat) (name : value -> value)
  | Holds (p : row -> Prop)
  | AtMost (n : nat) (k : row -> row) (c : nat)
  | Kinds (n : nat) (k : row -> row) (c : nat).

Section Judged.

Variable owner_column : table -> nat.

(** Of a plan it is said that …. One constructor is one rule. *)
Inductive judged : plan -> judgement -> Prop :=
  | j_public_given : forall rows, judged (Given rows) Public
  | j_public_filter : forall p q, judged q Public -> judged (Filter p q) Public
  | j_public_project : forall f q, judged q Public -> judged (Project f q) Public
  | j_public_union : forall a b, judged a Public -> judged b Public ->
      judged (Union a b) Public
  | j_public_move : forall m q, moves m -> judged q Public -> judged (Move m q) Public
  | j_owned_scan : forall t, judged (Scan t) (Owned (owner_column t) (fun u => u))
  | j_owned_filter : forall c nm p q, judged q (Owned c nm) ->
      judged (Filter p q) (Owned c nm)
  | j_owned_project : forall c c' nm g f q, injective g -> g Null = Null ->
      (forall r, column c' (f r) = g (column c r)) -> judged q (Owned c nm) ->
      judged (Project f q) (Owned c' (fun u => g (nm u)))
  | j_owned_union : forall c nm a b, judged a (Owned c nm) -> judged b (Owned c nm) ->
      judged (Union a b) (Owned c nm)
  | j_owned_move : forall c nm m q, moves m -> judged q (Owned c nm) ->
      judged (Move m q) (Owned c nm)
  | j_owned_meet : forall c c' nm h q p, judged p Public ->
      (forall r held held', Permutation held held' -> Permutation (h r held) (h r held')) ->
      (forall r held s, In s (h r held) -> column c' s = column c r) ->
      judged q (Owned c nm) -> judged (Meet h q p) (Owned c' nm)
  | j_owned_partitioned : forall c c' i nm k w q, (forall r, column i (k r) = column c r) -> carries c c' w ->
      stable any w -> judged q (Owned c nm) -> judged (Partitioned k w q) (Owned c' nm)
  | j_owned_numbered : forall c c' i nm k o put order q, (forall r, column i (k r) = column c r) ->
      carries c c' (numbered put order) -> sorts o order -> judged q (AtMost 1 o c) ->
      judged q (Owned c nm) ->
      judged (Partitioned k (numbered put order) q) (Owned c' nm)
  | j_owned_paired : forall c c' o nm w a b, carries_left c o w -> stable_both w ->
      judged a (Owned c nm) -> judged b (Owned c' nm) ->
      judged (Paired c c' w a b) (Owned o nm)
  | j_holds_anything : forall q, judged q (Holds (fun _ => True))
  | j_holds_asked : forall p (h : row -> Prop) q, (forall r, p r = true -> h r) -> judged (Filter p q) (Holds h)
  | j_holds_filter : forall p h q, judged q (Holds h) -> judged (Filter p q) (Holds h)
  | j_holds_project : forall f (h h' : row -> Prop) q, (forall r, h r -> h' (f r)) -> judged q (Holds h) ->
      judged (Project f q) (Holds h')
  | j_holds_union : forall h a b, judged a (Holds h) -> judged b (Holds h) -> judged (Union a b) (Holds h)
  | j_holds_move : forall h m q, moves m -> judged q (Holds h) -> judged (Move m q) (Holds h)
  | j_holds_meet : forall (h h' : row -> Prop) w q p, (forall r held s, In s (w r held) -> h r -> h' s) ->
      judged q (Holds h) -> judged (Meet w q p) (Holds h')
  | j_holds_partitioned : forall (h h' : row -> Prop) k w q,
      (forall l s, In s (w l) -> exists r, In r l /\ (h r -> h' s)) -> judged q (Holds h) ->
      judged (Partitioned k w q) (Holds h')
  | j_holds_paired : forall c c' o w a b, carries_left c o w -> judged (Paired c c' w a b) (Holds (fun s => column o s <> Null))
  | j_at_most_filter : forall n k c p q, judged q (AtMost n k c) ->
      judged (Filter p q) (AtMost n k c)
  | j_at_most_project : forall n k k' c c' g f q, injective g -> g Null = Null ->
      (forall r, column c' (f r) = g (column c r)) -> (forall r, k' (f r) = k r) ->
      judged q (AtMost n k c) -> judged (Project f q) (AtMost n k' c')
  | j_at_most_move : forall n k c m q, moves m -> judged q (AtMost n k c) ->
      judged (Move m q) (AtMost n k c)
  | j_at_most_meet : forall n k k' c c' w q p, (forall D r, length (w r (run p D)) <= 1) ->
      (forall r held s, In s (w r held) -> column c' s = column c r /\ k' s = k r) -> judged q (AtMost n k c) ->
      judged (Meet w q p) (AtMost n k' c')
  | j_at_most_paired : forall n k k' c c' o w a b, carries_left c o w ->
      (forall l l' y, length (group k' y (w l l')) <= length (group k y l)) -> judged a (AtMost n k c) ->
      judged (Paired c c' w a b) (AtMost n k' o)
  | j_at_most_finer : forall n k k' c q, (forall r s, k' r = k' s -> k r = k s) ->
      judged q (AtMost n k c) -> judged q (AtMost n k' c)
  | j_at_most_grouped : forall k k' w c q, keeps k k' w -> (forall l, length (w l) <= 1) ->
      judged (Partitioned k w q) (AtMost 1 k' c)
  | j_at_most_widened : forall n k k' p w c c' i q, (forall r, column i (p r) = column c r) -> carries c c' w -> widens k k' w ->
      judged q (AtMost n k c) -> judged (Partitioned p w q) (AtMost n k' c')
  | j_kinds_widened : forall n k k' p w c c' i q, (forall r, column i (p r) = column c r) -> carries c c' w -> widens k k' w ->
      judged q (Kinds n k c) -> judged (Partitioned p w q) (Kinds n k' c')
  | j_at_most_numbered : forall n put place order k k' c q, (forall l, Permutation (order l) l) ->
      (forall r i, place (put r i) = i) -> (forall r i, k' (put r i) = k r) ->
      judged (Filter (fun s => place s <=? n) (Partitioned k (numbered put order) q)) (AtMost n k' c)
  | j_kinds_filter : forall n k c p q, judged q (Kinds n k c) ->
      judged (Filter p q) (Kinds n k c)
  | j_kinds_project : forall n k k' c c' g f q, injective g -> g Null = Null ->
      (forall r, column c' (f r) = g (column c r)) -> (forall r, k' (f r) = k r) ->
      judged q (Kinds n k c) -> judged (Project f q) (Kinds n k' c')
  | j_kinds_move : forall n k c m q, moves m -> judged q (Kinds n k c) ->
      judged (Move m q) (Kinds n k c)
  | j_kinds_coarser : forall n k k' c q, (forall r s, k r = k s -> k' r = k' s) ->
      judged q (Kinds n k c) -> judged q (Kinds n k' c)
  | j_kinds_of_rows : forall n k c q, judged q (AtMost n (fun _ => []) c) ->
      judged q (Kinds n k c)
  | j_kinds_ranked : forall before n put place o o' c c' q, (forall y, before y y = false) ->
      (forall x y z, before x y = true -> before y z = true -> before x z = true) ->
      (forall x y, x <> y -> before x y = true \/ before y x = true) ->
      (forall r i, place (put r i) = i) -> (forall r i, o' (put r i) = o r) ->
      (forall r i, column c' (put r i) = column c r) ->
      judged (Filter (fun s => place s <=? n)
        (Partitioned (fun r => [column c r]) (ranked before put o) q)) (Kinds n o' c').

End Judged.

Definition means (owner_column : table -> nat) (q : plan) (j : judgement) : Prop :=
  match j with
  | Public => public (run q)
  | Owned c nm => owned owner_column c nm (run q)
  | Holds h => forall D r, In r (run q D) -> h r
  | AtMost n k c => at_most n k c (run q)
  | Kinds n k c => kinds n k c (run q)
  end.

Theorem sound : forall owner_column q j, judged owner_column q j -> means owner_column q j.
Proof. intros owner_column q j H. induction H; simpl in *.
  - apply public_given.
  - apply public_filter; assumption.
  - apply public_project; assumption.
  - apply public_union; assumption.
  - apply public_move; assumption.
  - apply owned_scan.
  - apply owned_filter; assumption.
  - eapply owned_project; eassumption.
  - apply owned_union; assumption.
  - apply owned_move; assumption.
  - eapply owned_meet; eassumption.
  - eapply (owned_partitioned _ any); try eassumption. intros; exact I.
  - eapply (owned_partitioned _ (distinct_in o)); try eassumption.
    + apply numbered_stable. assumption.
    + intros D x y. apply few_distinct, few_group. apply (IHjudged1 D x).
  - eapply owned_paired; eassumption.
  - intros; exact I.
  - intros D r R. apply filter_In in R. apply H, R.
  - intros D r R. apply filter_In in R. apply (IHjudged D), R.
  - intros D s S. apply in_map_iff in S. destruct S as [r [E R]]. subst s. apply H, (IHjudged D), R.
  - intros D r R. apply in_app_or in R. destruct R as [R | R]; [apply (IHjudged1 D) | apply (IHjudged2 D)]; exact R.
  - intros D r R. apply (IHjudged D), (Permutation_in r (H _)), R.
  - intros D s S. apply in_flat_map in S. destruct S as [r [R S]]. apply (H r _ s S), (IHjudged D), R.
  - intros D s S. apply partitioned_in in S. destruct S as [y [_ S]]. destruct (H _ _ S) as [r [R E]]. apply group_in in R. apply E, (IHjudged D), R.
  - intros D s S. unfold paired in S. apply in_flat_map in S. destruct S as [x [_ S]].
    destruct (is x Null); [contradiction |]. destruct (H _ _ _ S) as [r [R E]]. apply mine_in in R. rewrite E. intuition congruence.
  - apply at_most_filter; assumption.
  - eapply (at_most_project _ k); eassumption.
  - apply at_most_move; assumption.
  - eapply (at_most_meet n k); eassumption.
  - eapply (at_most_paired n k); eassumption.
  - eapply at_most_finer; eassumption.
  - eapply at_most_grouped; eassumption.
  - eapply (at_most_widened n k); eassumption.
  - eapply (kinds_widened n k); eassumption.
  - eapply at_most_numbered; eassumption.
  - apply kinds_filter; assumption.
  - eapply (kinds_project _ k); eassumption.
  - apply kinds_move; assumption.
  - eapply kinds_coarser; eassumption.
  - apply kinds_of_rows; assumption.
  - eapply kinds_ranked; eassumption.
Qed.

(** * What follows *)

Local Open Scope Z_scope.

Section Accepted.

Variable owner_column : table -> nat.
Variables (q : plan) (c : nat) (nm : value -> value).
Hypothesis Q : judged owner_column q (Owned c nm).

(** The native operator over owned rows, and the sum of what it gives. *)
Theorem native : forall k sort K read low high, orders sort ->
  (forall l l', Permutation l l' -> read l = read l') -> low <= high ->
  let f := bounding k sort K read low high in
  let A := farthest (Z.min low 0) (Z.max high 0) in
  let W := Z.max high 0 - Z.min low 0 in
  (forall D U g, NoDup U -> (forall u, ~ In u U -> absent owner_column u D) ->
    total c f (run q D) g = sum (fun u => total c f (run q (only owner_column u D)) g) U)
  /\ (forall u D D', removed owner_column u D D' ->
    within K A (A * Z.of_nat K) (A * A * Z.of_nat K) (move f c (run q) D D'))
  /\ (forall u D D', changed owner_column u D D' ->
    within (2 * K) W (A * Z.of_nat (2 * K)) (Z.max (W * W) (2 * (A * A)) * Z.of_nat K) (move f c (run q) D D')).
Proof. intros k sort K read low high S R E f A W. pose proof (bounding_bounded k sort K read low high S R E) as F. pose proof (sound _ _ _ Q) as O.
  assert (forall D x, any (mine c x (run q D))) as L by (intros; exact I). split; [| split].
  - intros D U g. exact (additive _ _ _ _ _ _ F _ _ _ O L D U g).
  - exact (removed_moves _ _ _ _ _ _ F _ _ _ O L).
  - exact (changed_moves _ _ _ _ _ _ F _ _ _ O L).
Qed.

(** GROUP BY k with a SUM, over rows of which each owner has at most [m] in each of at most [K] groups. *)
Section Sums.

Variables (k : row -> row) (number : row -> Z) (K m : nat) (low high : Z).
Hypothesis Somebody : judged owner_column q (Holds (fun r => column c r <> Null)).
Hypothesis Rows : judged owner_column q (AtMost m k c).
Hypothesis Groups : judged owner_column q (Kinds K k c).
Hypothesis Numbers : judged owner_column q (Holds (fun r => low <= number r <= high)).
Hypothesis Ends : low <= 0 <= high.

Definition result (D : database) (g : row) : Z := sum number (group k g (run q D)).

Lemma result_is_total : forall D g, result D g = total c (summed k number) (run q D) g.
Proof. intros. apply sum_by_owner. apply (sound _ _ _ Somebody). Qed.

Theorem sums :
  let A := farthest (Z.of_nat m * low) (Z.of_nat m * high) in
  let W := Z.of_nat m * high - Z.of_nat m * low in
  (forall D U g, NoDup U -> (forall u, ~ In u U -> absent owner_column u D) ->
    result D g = sum (fun u => result (only owner_column u D) g) U)
  /\ (forall u D D', removed owner_column u D D' ->
    within K A (A * Z.of_nat K) (A * A * Z.of_nat K) (fun g => result D g - result D' g))
  /\ (forall u D D', changed owner_column u D D' ->
    within (2 * K) W (A * Z.of_nat (2 * K)) (Z.max (W * W) (2 * (A * A)) * Z.of_nat K)
      (fun g => result D g - result D' g)).
Proof. intros A W. pose proof (summed_bounded K m k number low high Ends) as F. pose proof (sound _ _ _ Q) as O.
  assert (forall D x, limited K m k number low high (mine c x (run q D))) as L.
  { intros D x. split; [| split].
    - apply (sound _ _ _ Rows).
    - apply (sound _ _ _ Groups).
    - intros r R. apply mine_in in R. apply (sound _ _ _ Numbers D), R. }
  assert (forall n each all squares d e, (forall g, d g = e g) -> within n each all squares e -> within n each all squares d) as X.
  { intros n each all squares d e E H G N. specialize (H G N). destruct H as [H1 [H2 [H3 H4]]]. repeat split.
    - intros g. rewrite E. apply H1.
    - intros I. apply H2. intros g J. rewrite <- E. apply I, J.
    - rewrite (sum_same _ _ _ G (fun g _ => f_equal Z.abs (E g))). exact H3.
    - rewrite (sum_same _ _ (fun g => e g * e g) G); [exact H4 |]. intros g _. rewrite E. reflexivity. } split; [| split].
  - intros D U g N H. rewrite result_is_total. rewrite (sum_same _ _ _ U (fun u _ => result_is_total (only owner_column u D) g)). exact (additive _ _ _ _ _ _ F _ _ _ O L D U g N H).
  - intros u D D' R. eapply X; [| exact (removed_moves _ _ _ _ _ _ F _ _ _ O L u D D' R)]. intros g. unfold move. rewrite !result_is_total. reflexivity.
  - intros u D D' C. eapply X; [| exact (changed_moves _ _ _ _ _ _ F _ _ _ O L u D D' C)]. intros g. unfold move. rewrite !result_is_total. reflexivity.
Qed.

End Sums.

(** Counts of distinct values. *)
Theorem distincts : forall (k v : row -> row) K m u D D' G, judged owner_column q (Holds (fun r => column c r <> Null)) ->
  judged owner_column q (AtMost m k c) -> judged owner_column q (Kinds K k c) ->
  changed owner_column u D D' -> NoDup G ->
  (forall g, Z.abs (distinct k v (run q D) g - distinct k v (run q D') g) <= Z.of_nat m)
  /\ ((forall g, In g G -> distinct k v (run q D) g <> distinct k v (run q D') g) -> (length G <= 2 * K)%nat).
Proof. intros k v K m u D D' G S M V C N. apply sound in S, M, V. pose proof (sound _ _ _ Q) as O. split.
  - intros g. eapply distinct_moves_each; eassumption.
  - eapply distinct_moves_groups; eassumption.
Qed.

End Accepted.

Print Assumptions native.
Print Assumptions lengths_one.
Print Assumptions lengths_two.
Print Assumptions sums.
Print Assumptions distincts.
