(** How many rows one owner has, in how many groups: what GROUP BY and rankings leave. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows Rules.
Import ListNotations.

(** At most [n] rows agree in [k]. *)
Definition few (n : nat) (k : row -> row) (l : list row) : Prop := forall y, length (group k y l) <= n.

(** There are at most [n] different [k]. *)
Definition varied (n : nat) (k : row -> row) (l : list row) : Prop := length (nodup row_dec (map k l)) <= n.

(** Each row is somebody's. *)
Definition somebodys (c : nat) (q : query) : Prop := forall D r, In r (q D) -> column c r <> Null.

(** Of each owner at most [n] rows agree in [k]. *)
Definition at_most (n : nat) (k : row -> row) (c : nat) (q : query) : Prop := forall D x, few n k (mine c x (q D)).

(** The rows of each owner have at most [n] different [k]. *)
Definition kinds (n : nat) (k : row -> row) (c : nat) (q : query) : Prop :=
  forall D x, varied n k (mine c x (q D)).

(** * Lists *)

Lemma group_filter : forall k y p l, group k y (filter p l) = filter p (group k y l).
Proof. intros. apply filter_filter_swap. Qed.
Lemma few_filter : forall n k p l, few n k l -> few n k (filter p l).
Proof. intros n k p l H y. rewrite group_filter. eapply Nat.le_trans; [apply filter_length_le | apply H]. Qed.
Lemma few_mine : forall n k c x l, few n k l -> few n k (mine c x l).
Proof. intros. destruct x; simpl; [intros y; simpl; lia | |]; apply few_filter; assumption. Qed.
Lemma few_permutation : forall n k l l', Permutation l l' -> few n k l -> few n k l'.
Proof. intros n k l l' P H y. unfold group. rewrite <- (Permutation_length (filter_permutation _ (fun r => same (k r) y) _ _ P)). apply H. Qed.
Lemma varied_incl : forall n k k' l l', (forall r, In r l' -> exists s, In s l /\ k s = k' r) ->
  varied n k l -> varied n k' l'.
Proof. intros n k k' l l' I H. unfold varied in *. eapply Nat.le_trans; [| apply H]. apply NoDup_incl_length; [apply NoDup_nodup |]. intros y Y. rewrite nodup_In in *.
  apply in_map_iff in Y. destruct Y as [r [E R]]. destruct (I r R) as [s [S T]]. apply in_map_iff. exists s. split; [congruence | assumption].
Qed.

(** * What keeps limits *)

Lemma at_most_filter : forall n k c p q, at_most n k c q -> at_most n k c (fun D => filter p (q D)).
Proof. intros n k c p q H D x. rewrite mine_filter. apply few_filter, H. Qed.

Lemma kinds_filter : forall n k c p q, kinds n k c q -> kinds n k c (fun D => filter p (q D)).
Proof. intros n k c p q H D x. rewrite mine_filter. eapply varied_incl; [| apply (H D x)]. intros r R. apply filter_In in R. exists r. split; [apply R | reflexivity]. Qed.

Lemma at_most_move : forall n k c m q, moves m -> at_most n k c q -> at_most n k c (fun D => m (q D)).
Proof. intros n k c m q M H D x. eapply few_permutation; [| apply (H D x)]. apply mine_permutation, Permutation_sym, M. Qed.

Lemma kinds_move : forall n k c m q, moves m -> kinds n k c q -> kinds n k c (fun D => m (q D)).
Proof. intros n k c m q M H D x. eapply varied_incl; [| apply (H D x)]. intros r R. exists r. split; [| reflexivity]. eapply Permutation_in; [apply mine_permutation, M | exact R]. Qed.

(** The rows of an owner after a projection are those of one owner before it. *)
Lemma mine_projected : forall c c' g f x l, injective g -> g Null = Null ->
  (forall r, column c' (f r) = g (column c r)) ->
  exists y, mine c' x (map f l) = map f (mine c y l).
Proof. intros c c' g f x l I Z F. destruct (mine c' x (map f l)) as [| s rest] eqn:E; [exists Null; reflexivity |].
  assert (In s (mine c' x (map f l))) as S by (rewrite E; left; reflexivity). apply mine_in in S. destruct S as [S [X N]]. apply in_map_iff in S. destruct S as [r [T R]].
  exists (column c r). rewrite <- E. subst s. rewrite F in X. subst x. apply mine_map; assumption.
Qed.

Lemma at_most_project : forall n k k' c c' g f q, injective g -> g Null = Null ->
  (forall r, column c' (f r) = g (column c r)) -> (forall r, k' (f r) = k r) ->
  at_most n k c q -> at_most n k' c' (fun D => map f (q D)).
Proof. intros n k k' c c' g f q I Z F K H D x y. destruct (mine_projected c c' g f x (q D) I Z F) as [x' E]. rewrite E. unfold group.
  rewrite filter_map_swap, map_length. rewrite (filter_same _ _ (fun r => same (k r) y)) by (intros; rewrite K; reflexivity). apply H.
Qed.

Lemma kinds_project : forall n k k' c c' g f q, injective g -> g Null = Null ->
  (forall r, column c' (f r) = g (column c r)) -> (forall r, k' (f r) = k r) ->
  kinds n k c q -> kinds n k' c' (fun D => map f (q D)).
Proof. intros n k k' c c' g f q I Z F K H D x. destruct (mine_projected c c' g f x (q D) I Z F) as [x' E]. rewrite E.
  eapply varied_incl; [| apply (H D x')]. intros s S. apply in_map_iff in S. destruct S as [r [T R]]. exists r. split; [exact R |]. subst s. symmetry. apply K.
Qed.

(** A join to public rows in which each row finds at most one partner. *)
Lemma at_most_meet : forall n k k' c c' h (q p : query), (forall D r, length (h r (p D)) <= 1) ->
  (forall r held s, In s (h r held) -> column c' s = column c r /\ k' s = k r) ->
  at_most n k c q -> at_most n k' c' (fun D => flat_map (fun r => h r (p D)) (q D)).
Proof. intros n k k' c c' h q p O C H D x y. rewrite (mine_flat_map c) by (intros; eapply C; eassumption).
  eapply Nat.le_trans; [| apply (H D x y)]. unfold group. rewrite filter_flat_map.
  induction (mine c x (q D)) as [| r l IH]; [simpl; lia |]. simpl. rewrite app_length. specialize (O D r). destruct (same (k r) y) eqn:S.
  - pose proof (filter_length_le _ (fun s => same (k' s) y) (h r (p D))). simpl. lia.
  - rewrite filter_none; [simpl; lia |]. intros s I. destruct (C _ _ _ I) as [_ E]. rewrite E. exact S.
Qed.

(** A join by owner that gives each row of the left side once at most. *)
Lemma at_most_paired : forall n k k' c c' o w (a b : query), carries_left c o w ->
  (forall l l' y, length (group k' y (w l l')) <= length (group k y l)) ->
  at_most n k c a -> at_most n k' o (fun D => paired c c' w (a D) (b D)).
Proof. intros n k k' c c' o w a b C O H D x y. destruct (value_dec x Null) as [Z | Z]; [subst; simpl; lia |].
  rewrite (paired_mine (fun _ => 0) c c' o w x (a D) (b D) C Z). eapply Nat.le_trans; [apply O | apply (H D x y)].
Qed.

(** Rows that agree in more agree in less. *)
Lemma at_most_finer : forall n k k' c q, (forall r s, k' r = k' s -> k r = k s) ->
  at_most n k c q -> at_most n k' c q.
Proof. intros n k k' c q F H D x y. destruct (group k' y (mine c x (q D))) as [| r rest] eqn:E; [simpl; lia |].
  assert (In r (group k' y (mine c x (q D)))) as R by (rewrite E; left; reflexivity).
  rewrite <- E. clear E rest. apply group_in in R. destruct R as [_ R]. eapply Nat.le_trans; [| apply (H D x (k r))]. unfold group.
  induction (mine c x (q D)) as [| s l IH]; [simpl; lia |]. simpl. destruct (same (k' s) y) eqn:S.
  - apply same_true in S. replace (same (k s) (k r)) with true; [simpl; lia |]. symmetry. apply same_true, F. congruence.
  - destruct (same (k s) (k r)); simpl; lia.
Qed.

Lemma kinds_coarser : forall n k k' c q, (forall r s, k r = k s -> k' r = k' s) ->
  kinds n k c q -> kinds n k' c q.
Proof. intros n k k' c q F H D x. unfold kinds, varied in *. specialize (H D x). remember (mine c x (q D)) as l. clear Heql. revert H.
  assert (forall V : list row, NoDup V -> (forall y, In y V -> exists r, In r l /\ k' r = y) ->
    exists U, NoDup U /\ length U = length V /\ (forall z, In z U -> exists r, In r l /\ k r = z /\ In (k' r) V)) as A.
  { intros V N. induction N as [| y V Y N IH]; intros I.
    - exists []. repeat split; [constructor | intros z []].
    - destruct IH as [U [NU [L IU]]]; [intros; apply I; right; assumption |]. destruct (I y) as [r [R E]]; [left; reflexivity |]. exists (k r :: U). repeat split.
      + constructor; [| exact NU]. intros X. destruct (IU _ X) as [s [_ [S T]]]. apply F in S. apply Y. congruence.
      + simpl. congruence.
      + intros z [Z | Z]; [exists r; subst; repeat split; auto; left; reflexivity |]. destruct (IU z Z) as [s [S [T W]]]. exists s. repeat split; auto. right. exact W. }
  destruct (A (nodup row_dec (map k' l)) (NoDup_nodup _ _)) as [U [N [L I]]].
  { intros y Y. apply nodup_In, in_map_iff in Y. destruct Y as [r [E R]]. eauto. } intros H. rewrite <- L. eapply Nat.le_trans; [| apply H]. apply NoDup_incl_length; [exact N |].
  intros z Z. destruct (I z Z) as [r [R [E _]]]. apply nodup_In, in_map_iff. eauto.
Qed.

(** So many rows have no more kinds. *)
Lemma kinds_of_rows : forall n k c q, at_most n (fun _ => []) c q -> kinds n k c q.
Proof. intros n k c q H D x. unfold varied. specialize (H D x []). unfold group in H.
  rewrite filter_all in H by (intros; apply same_true; reflexivity). eapply Nat.le_trans; [| apply H]. rewrite <- (map_length k (mine c x (q D))).
  apply NoDup_incl_length; [apply NoDup_nodup |]. intros y. apply nodup_In.
Qed.

(** * What makes limits *)

(** What comes out of a partition is in the same partition. *)
Definition keeps (k k' : row -> row) (w : list row -> list row) : Prop :=
  forall l s, In s (w l) -> exists r, In r l /\ k' s = k r.

Lemma keeps_nothing : forall k k' w, keeps k k' w -> w [] = [].
Proof. intros k k' w H. destruct (w []) as [| s rest] eqn:E; [reflexivity |]. destruct (H [] s) as [r [[] _]]. rewrite E. left. reflexivity. Qed.

Lemma group_partitioned : forall k k' w y l, keeps k k' w ->
  group k' y (partitioned k w l) = w (group k y l).
Proof. intros k k' w y l K. unfold group at 1, partitioned. rewrite filter_flat_map. rewrite (flat_map_only _ _ row_dec _ y); [| apply NoDup_nodup |].
  - destruct (in_dec row_dec y (nodup row_dec (map k l))) as [H | H].
    + apply filter_all. intros s S. destruct (K _ _ S) as [r [R E]]. apply group_in in R. apply same_true. rewrite E. apply R.
    + assert (group k y l = []) as E.
      { apply filter_none. intros r R. apply not_true_iff_false. rewrite same_true. intros E. apply H, nodup_In, in_map_iff. eauto. } rewrite E. symmetry. apply (keeps_nothing k k'), K.
  - intros z _ Z. apply filter_none. intros s S. destruct (K _ _ S) as [r [R E]]. apply group_in in R. apply not_true_iff_false. rewrite same_true, E. intuition congruence.
Qed.

(** A partition of which so many rows are left. *)
Lemma at_most_partitioned : forall n k k' w p c q, keeps k k' w -> (forall l, length (filter p (w l)) <= n) ->
  at_most n k' c (fun D => filter p (partitioned k w (q D))).
Proof. intros n k k' w p c q K W D x. apply few_mine. intros y. rewrite group_filter, (group_partitioned k) by assumption. apply W. Qed.

(** GROUP BY leaves one row of each group. *)
Lemma at_most_grouped : forall k k' w c q, keeps k k' w -> (forall l, length (w l) <= 1) ->
  at_most 1 k' c (fun D => partitioned k w (q D)).
Proof. intros k k' w c q K W D x. apply few_mine. intros y. rewrite (group_partitioned k) by assumption. apply W. Qed.

(** ROW_NUMBER: the rows of a partition in some order, each with its place. *)
Definition numbered (put : row -> nat -> row) (order : list row -> list row) (l : list row) : list row :=
  map (fun both => put (fst both) (snd both)) (combine (order l) (seq 1 (length l))).

Lemma numbered_first : forall put place order n l, (forall r i, place (put r i) = i) ->
  length (filter (fun s => place s <=? n) (numbered put order l)) <= n.
Proof. intros put place order n l P. unfold numbered. assert (forall o m a, a + length (filter (fun s => place s <=? n)
    (map (fun both => put (fst both) (snd both)) (combine o (seq a m)))) <= Nat.max a (S n)) as A.
  { induction o as [| r o IH]; intros m a; [simpl; lia |]. destruct m; [simpl; lia |]. simpl. rewrite P. specialize (IH m (S a)). destruct (a <=? n) eqn:E; simpl.
    - apply Nat.leb_le in E. lia.
    - apply Nat.leb_gt in E. lia. } specialize (A (order l) (length l) 1). lia.
Qed.

(** ROW_NUMBER in partitions, and a filter that leaves the first [n] of each. *)
Lemma at_most_numbered : forall n put place order k k' c q, (forall l, Permutation (order l) l) ->
  (forall r i, place (put r i) = i) -> (forall r i, k' (put r i) = k r) ->
  at_most n k' c (fun D => filter (fun s => place s <=? n) (partitioned k (numbered put order) (q D))).
Proof. intros n put place order k k' c q O P K. apply at_most_partitioned.
  - intros l s S. apply in_map_iff in S. destruct S as [[r i] [E S]]. apply in_combine_l in S. exists r. split; [eapply Permutation_in; [apply O | exact S] |]. subst s. apply K.
  - intros l. apply numbered_first. exact P.
Qed.

(** A window gives each row of a partition once, with more columns. *)
Definition widens (k k' : row -> row) (w : list row -> list row) : Prop := forall l, Permutation (map k' (w l)) (map k l).

Lemma partitions_cover : forall k V l, NoDup V -> (forall r, In r l -> In (k r) V) -> Permutation (flat_map (fun y => group k y l) V) l.
Proof.
  intros k V l N. induction l as [| r l IH]; intros I.
  - induction V as [| y V IHV]; [constructor |]. simpl. apply IHV; [inversion N; assumption | intros r []].
  - destruct (in_split (k r) V) as [A [B E]]; [apply I; left; reflexivity |].
    assert (forall W, ~ In (k r) W -> flat_map (fun y => group k y (r :: l)) W = flat_map (fun y => group k y l) W) as O.
    { intros W H. apply flat_map_same. intros y Y. unfold group. simpl. destruct (same (k r) y) eqn:S; [| reflexivity].
      apply same_true in S. subst y. contradiction. }
    subst V. pose proof (NoDup_remove_2 _ _ _ N) as X. rewrite in_app_iff in X. rewrite flat_map_app in *. cbn [flat_map] in *. rewrite !O by tauto.
    replace (group k (k r) (r :: l)) with (r :: group k (k r) l).
    + apply Permutation_sym. cbn [app]. apply Permutation_cons_app, Permutation_sym, IH. intros s S. apply I. right. exact S.
    + unfold group. simpl. replace (same (k r) (k r)) with true; [reflexivity |]. symmetry. apply same_true. reflexivity.
Qed.

Lemma mine_widened : forall k k' p w c c' i x l, (forall r, column i (p r) = column c r) -> carries c c' w -> widens k k' w ->
  Permutation (map k' (mine c' x (partitioned p w l))) (map k (mine c x l)).
Proof.
  intros k k' p w c c' i x l O C W. eapply Permutation_trans; [apply Permutation_map, (partitioned_mine c c' i); assumption |].
  eapply Permutation_trans; [| apply Permutation_map, (partitions_cover p (nodup row_dec (map p (mine c x l)))); [apply NoDup_nodup |]].
  - unfold partitioned. rewrite !flat_map_concat_map, !concat_map, !map_map, <- !flat_map_concat_map. apply flat_map_pointwise. intros y _. apply W.
  - intros r R. apply nodup_In, in_map, R.
Qed.

Lemma at_most_widened : forall n k k' p w c c' i q, (forall r, column i (p r) = column c r) -> carries c c' w -> widens k k' w ->
  at_most n k c q -> at_most n k' c' (fun D => partitioned p w (q D)).
Proof.
  intros n k k' p w c c' i q O C W H D x y. pose proof (mine_widened k k' p w c c' i x (q D) O C W) as P.
  assert (forall k l, length (group k y l) = length (filter (fun z => same z y) (map k l))) as E
    by (intros; unfold group; rewrite filter_map_swap, map_length; reflexivity).
  rewrite E, (Permutation_length (filter_permutation _ _ _ _ P)), <- E. apply H.
Qed.

Lemma kinds_widened : forall n k k' p w c c' i q, (forall r, column i (p r) = column c r) -> carries c c' w -> widens k k' w ->
  kinds n k c q -> kinds n k' c' (fun D => partitioned p w (q D)).
Proof.
  intros n k k' p w c c' i q O C W H D x. pose proof (mine_widened k k' p w c c' i x (q D) O C W) as P.
  eapply varied_incl; [| apply (H D x)]. intros s S. apply (in_map k') in S. eapply Permutation_in in S; [| exact P].
  apply in_map_iff in S. destruct S as [r [E R]]. eauto.
Qed.

(** DENSE_RANK: one more than how many different [o] come before. *)
Section DenseRank.

Variable before : row -> row -> bool.
Hypothesis before_irreflexive : forall y, before y y = false.
Hypothesis before_transitive : forall x y z, before x y = true -> before y z = true -> before x z = true.
Hypothesis before_total : forall x y, x <> y -> before x y = true \/ before y x = true.

Definition smaller (V : list row) (y : row) : nat := length (filter (fun z => before z y) V).

Definition ranked (put : row -> nat -> row) (o : row -> row) (l : list row) : list row :=
  map (fun r => put r (S (smaller (nodup row_dec (map o l)) (o r)))) l.

Lemma filter_fewer : forall (A : Type) (p q : A -> bool) a l, (forall b, p b = true -> q b = true) ->
  In a l -> p a = false -> q a = true -> length (filter p l) < length (filter q l).
Proof. intros A p q a l I H P Q. induction l as [| b l IH]; [contradiction |]. simpl. assert (length (filter p l) <= length (filter q l)) as L.
  { clear - I. induction l as [| b l IH]; [simpl; lia |]. simpl. destruct (p b) eqn:E.
    - rewrite (I b E). simpl. lia.
    - destruct (q b); simpl; lia. } destruct H as [H | H].
  - subst b. rewrite P, Q. simpl. lia.
  - specialize (IH H). destruct (p b) eqn:E; [rewrite (I b E); simpl; lia |]. destruct (q b); simpl; lia.
Qed.

Lemma smaller_injective : forall V x y, In x V -> In y V -> smaller V x = smaller V y -> x = y.
Proof. intros V. assert (forall x y, In x V -> before x y = true -> smaller V x < smaller V y) as L.
  { intros x y X B. apply filter_fewer with (a := x); auto. intros z Z. eapply before_transitive; eassumption. }
  intros x y X Y E. destruct (row_dec x y) as [H | H]; [exact H |]. destruct (before_total x y H) as [B | B]; [specialize (L x y X B) | specialize (L y x Y B)]; lia.
Qed.

Lemma few_small : forall n V, NoDup V -> length (filter (fun y => S (smaller V y) <=? n) V) <= n.
Proof. intros n V N. set (W := filter (fun y => S (smaller V y) <=? n) V). rewrite <- (map_length (smaller V) W), <- (seq_length n 0). apply NoDup_incl_length.
  - assert (forall U, incl U V -> NoDup U -> NoDup (map (smaller V) U)) as A.
    { intros U I NU. induction NU as [| y U Y NU IH]; [constructor |]. simpl. constructor.
      - intros X. apply in_map_iff in X. destruct X as [z [E Z]]. apply Y. replace y with z; [exact Z |]. apply (smaller_injective V); [apply I; right | apply I; left |]; auto.
      - apply IH. intros z Z. apply I. right. exact Z. } apply A; [intros y Y; apply filter_In in Y; apply Y | apply NoDup_filter, N].
  - intros i I. apply in_map_iff in I. destruct I as [y [E Y]]. apply filter_In in Y. destruct Y as [_ Y]. apply Nat.leb_le in Y. apply in_seq. lia.
Qed.

(** DENSE_RANK over one owner's rows, and a filter that leaves the first [n] ranks. *)
Lemma kinds_ranked : forall n put place o o' c c' q, (forall r i, place (put r i) = i) ->
  (forall r i, o' (put r i) = o r) -> (forall r i, column c' (put r i) = column c r) ->
  kinds n o' c' (fun D => filter (fun s => place s <=? n)
    (partitioned (fun r => [column c r]) (ranked put o) (q D))).
Proof. intros n put place o o' c c' q P O C D x. assert (forall l, group (fun s => [column c' s]) [x] (partitioned (fun r => [column c r]) (ranked put o) l)
    = ranked put o (group (fun r => [column c r]) [x] l)) as G.
  { intros l. apply group_partitioned. intros l' s S. apply in_map_iff in S. destruct S as [r [E R]].
    exists r. split; [exact R |]. subst s. rewrite C. reflexivity. } rewrite mine_filter. set (L := partitioned _ _ _) in *.
  assert (forall p r, In r (filter p (mine c' x L)) -> In r (filter p (group (fun s => [column c' s]) [x] L))) as I.
  { intros p r R. apply filter_In in R. destruct R as [R Q]. apply mine_in in R. apply filter_In. split; [| exact Q]. apply group_in. destruct R as [R [E _]]. rewrite E. auto. }
  specialize (G (q D)). fold L in G. set (M := group (fun r => [column c r]) [x] (q D)) in *.
  unfold varied. eapply Nat.le_trans; [| apply (few_small n (nodup row_dec (map o M))), NoDup_nodup].
  apply NoDup_incl_length; [apply NoDup_nodup |]. intros y Y. apply nodup_In, in_map_iff in Y.
  destruct Y as [s [E S]]. apply I in S. rewrite G in S. apply filter_In in S. destruct S as [S Q].
  apply in_map_iff in S. destruct S as [r [T R]]. subst s. rewrite O in E. rewrite P in Q. subst y. apply filter_In. split; [apply nodup_In, in_map, R | exact Q].
Qed.

Lemma ranked_stable : forall put o, stable any (ranked put o).
Proof. intros put o l l' _ P. unfold ranked. assert (forall y, smaller (nodup row_dec (map o l)) y = smaller (nodup row_dec (map o l')) y) as E.
  { intros y. unfold smaller. apply Permutation_length, filter_permutation, nodup_permutation.
    intros z. split; intros Z; (eapply Permutation_in; [| exact Z]); apply Permutation_map; [| apply Permutation_sym]; exact P. }
  eapply Permutation_trans; [apply Permutation_map, P |]. rewrite (map_ext _ _ (fun r => f_equal (fun i => put r (S i)) (E (o r)))). apply Permutation_refl.
Qed.

End DenseRank.

(** A sort by [o], among rows that differ in [o], gives one sequence. *)
Definition sorts (o : row -> row) (order : list row -> list row) : Prop :=
  forall l l', distinct_in o l -> Permutation l l' -> order l = order l'.

Lemma numbered_stable : forall put o order, sorts o order -> stable (distinct_in o) (numbered put order).
Proof. intros put o order S l l' H P. unfold numbered. rewrite (S l l' H P), (Permutation_length P). apply Permutation_refl. Qed.

(** Rows of which at most one agrees in [o] differ in [o]. *)
Lemma few_distinct : forall o l, few 1 o l -> distinct_in o l.
Proof. intros o l H. unfold distinct_in. induction l as [| r l IH]; [constructor |]. simpl. constructor.
  - intros X. apply in_map_iff in X. destruct X as [s [E S]]. specialize (H (o r)). unfold group in H.
    simpl in H. replace (same (o r) (o r)) with true in H by (symmetry; apply same_true; reflexivity).
    simpl in H. assert (In s (filter (fun s => same (o s) (o r)) l)) as X by (apply filter_In; split; [exact S | apply same_true, E]).
    destruct (filter (fun s => same (o s) (o r)) l); [contradiction | simpl in H; lia].
  - apply IH. intros y. specialize (H y). unfold group in *. simpl in H. destruct (same (o r) y); simpl in H; lia.
Qed.

Lemma few_group : forall n o k y l, few n o l -> few n o (group k y l).
Proof. intros. apply few_filter. assumption. Qed.
