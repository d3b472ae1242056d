(** The rules of the verifier: what is judged of a plan from what is judged of its inputs. Each lemma is named in the rule of the crate `verify` that it is the proof of. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows.
Import ListNotations.

(** * What operators compute *)

(** The rows of one partition. *)
Definition group (k : row -> row) (y : row) (rows : list row) : list row := filter (fun r => same (k r) y) rows.

(** A function of each partition: GROUP BY, a window, a ranking. *)
Definition partitioned (k : row -> row) (w : list row -> list row) (rows : list row) : list row :=
  flat_map (fun y => w (group k y rows)) (nodup row_dec (map k rows)).

(** A function of what one owner has on two sides: a join by owner. NULL meets nothing. *)
Definition paired (c c' : nat) (w : list row -> list row -> list row) (rows rows' : list row) : list row :=
  flat_map (fun x => if is x Null then [] else w (mine c x rows) (mine c' x rows'))
    (nodup value_dec (map (column c) rows)).

Inductive plan :=
  | Given (rows : list row)
  | Scan (t : table)
  | Filter (p : row -> bool) (input : plan)
  | Project (f : row -> row) (input : plan)
  | Union (one other : plan)
  | Move (m : list row -> list row) (input : plan)
  | Meet (h : row -> list row -> list row) (input held : plan)
  | Partitioned (k : row -> row) (w : list row -> list row) (input : plan)
  | Paired (c c' : nat) (w : list row -> list row -> list row) (one other : plan).

Fixpoint run (q : plan) (D : database) : list row :=
  match q with
  | Given rows => rows
  | Scan t => D t
  | Filter p q => filter p (run q D)
  | Project f q => map f (run q D)
  | Union a b => run a D ++ run b D
  | Move m q => m (run q D)
  | Meet h q p => flat_map (fun r => h r (run p D)) (run q D)
  | Partitioned k w q => partitioned k w (run q D)
  | Paired c c' w a b => paired c c' w (run a D) (run b D)
  end.

(** Sorts, exchanges, merges: the same rows in other places. *)
Definition moves (m : list row -> list row) : Prop := forall l, Permutation (m l) l.

(** What is computed of rows does not depend on their order, where they are as [S] says. *)
Definition stable (S : list row -> Prop) (w : list row -> list row) : Prop :=
  forall l l', S l -> Permutation l l' -> Permutation (w l) (w l').

Definition any (l : list row) : Prop := True.

(** No two rows agree in [o]. *)
Definition distinct_in (o : row -> row) (l : list row) : Prop := NoDup (map o l).

(** What comes out of a partition carries in column [c'] what a row that went in has in column [c]. *)
Definition carries (c c' : nat) (w : list row -> list row) : Prop :=
  forall l s, In s (w l) -> exists r, In r l /\ column c' s = column c r.

Section Rules.

Variable owner_column : table -> nat.

Notation owned := (owned owner_column).

(** * Public rows *)

Lemma public_given : forall rows, public (fun _ => rows).
Proof. intros rows D D'. apply Permutation_refl. Qed.
Lemma public_filter : forall p q, public q -> public (fun D => filter p (q D)).
Proof. intros p q H D D'. apply filter_permutation, H. Qed.
Lemma public_project : forall f q, public q -> public (fun D => map f (q D)).
Proof. intros f q H D D'. apply Permutation_map, H. Qed.
Lemma public_union : forall a b, public a -> public b -> public (fun D => a D ++ b D).
Proof. intros a b H H' D D'. apply Permutation_app; auto. Qed.
Lemma public_move : forall m q, moves m -> public q -> public (fun D => m (q D)).
Proof. intros m q M H D D'. eapply Permutation_trans; [apply M |]. eapply Permutation_trans; [apply (H D D') |]. apply Permutation_sym, M. Qed.

(** * Owned rows *)

Lemma owned_scan : forall t, owned (owner_column t) (fun u => u) (fun D => D t).
Proof. intros t. split.
  - intros one other H _. exact H.
  - intros u D D' H. apply H.
  - intros u D H. apply H.
  - intros D r _ _. exists (column (owner_column t) r). reflexivity.
Qed.

Lemma owned_filter : forall c nm p q, owned c nm q -> owned c nm (fun D => filter p (q D)).
Proof. intros c nm p q [I O A N]. split.
  - exact I.
  - intros u D D' H. rewrite !mine_filter. apply filter_permutation, O, H.
  - intros u D H. rewrite mine_filter, A by assumption. reflexivity.
  - intros D r H X. apply filter_In in H. apply (N D r); [apply H | exact X].
Qed.

Lemma mine_map : forall c c' g f x l, injective g -> g x <> Null ->
  (forall r, column c' (f r) = g (column c r)) -> g Null = Null ->
  mine c' (g x) (map f l) = map f (mine c x l).
Proof. intros c c' g f x l I X F Z. assert (x <> Null) as X' by congruence. unfold mine. destruct (g x) as [| n | n] eqn:E; [congruence | |];
    (destruct x as [| m | m]; [congruence | |]); rewrite filter_map_swap; f_equal; apply filter_same; intros r _; rewrite F;
    apply eq_true_iff_eq; rewrite !is_true; split; intros H; try (apply I; congruence); congruence.
Qed.

(** A projection that keeps the owner, or converts names one by one. *)
Lemma owned_project : forall c c' nm g f q, injective g -> g Null = Null ->
  (forall r, column c' (f r) = g (column c r)) ->
  owned c nm q -> owned c' (fun u => g (nm u)) (fun D => map f (q D)).
Proof. intros c c' nm g f q IG Z F [I O A N]. assert (forall u D, g (nm u) <> Null -> mine c' (g (nm u)) (map f (q D)) = map f (mine c (nm u) (q D)))
    as M by (intros; apply mine_map; assumption). split.
  - intros one other H X. assert (nm one = nm other) by (apply IG; assumption). apply I; [assumption | congruence].
  - intros u D D' H. destruct (value_dec (g (nm u)) Null) as [E | E].
    + rewrite E. constructor.
    + rewrite !M by assumption. apply Permutation_map, O, H.
  - intros u D H. destruct (value_dec (g (nm u)) Null) as [E | E].
    + rewrite E. reflexivity.
    + rewrite M, A by assumption. reflexivity.
  - intros D r H X. apply in_map_iff in H. destruct H as [r' [E H]]. subst r. rewrite F in *. destruct (N D r' H) as [u U]; [congruence |]. exists u. congruence.
Qed.

Lemma owned_union : forall c nm a b, owned c nm a -> owned c nm b -> owned c nm (fun D => a D ++ b D).
Proof. intros c nm a b [I O A N] [_ O' A' N']. split.
  - exact I.
  - intros u D D' H. rewrite !mine_app. apply Permutation_app; auto.
  - intros u D H. rewrite mine_app, A, A' by assumption. reflexivity.
  - intros D r H. apply in_app_or in H. destruct H; [apply (N D) | apply (N' D)]; assumption.
Qed.

Lemma owned_move : forall c nm m q, moves m -> owned c nm q -> owned c nm (fun D => m (q D)).
Proof. intros c nm m q M [I O A N]. assert (forall x D, Permutation (mine c x (m (q D))) (mine c x (q D))) as P by (intros; apply mine_permutation, M). split.
  - exact I.
  - intros u D D' H. eapply Permutation_trans; [apply P |]. eapply Permutation_trans; [apply O; eassumption |]. apply Permutation_sym, P.
  - intros u D H. apply Permutation_nil, Permutation_sym. rewrite <- (A u D H). apply P.
  - intros D r H. apply (N D), (Permutation_in r (M (q D))), H.
Qed.

Lemma mine_flat_map : forall c c' x h l,
  (forall r s, In s (h r) -> column c' s = column c r) ->
  mine c' x (flat_map h l) = flat_map h (mine c x l).
Proof. intros c c' x h l C. assert (forall x, filter (fun r => is (column c' r) x) (flat_map h l) = flat_map h (filter (fun r => is (column c r) x) l)) as E.
  { intros y. rewrite filter_flat_map. induction l as [| r l IH]; [reflexivity |]. simpl. destruct (is (column c r) y) eqn:Y; simpl; rewrite IH.
    - f_equal. apply filter_all. intros s H. rewrite (C r s H). exact Y.
    - rewrite filter_none; [reflexivity |]. intros s H. rewrite (C r s H). exact Y. } destruct x; simpl; [reflexivity | |]; apply E.
Qed.

(** Each private row meets public rows, and no other private row: inner, outer, semi, anti and mark joins alike. *)
Lemma owned_meet : forall c c' nm h q p, public p ->
  (forall r held held', Permutation held held' -> Permutation (h r held) (h r held')) ->
  (forall r held s, In s (h r held) -> column c' s = column c r) ->
  owned c nm q -> owned c' nm (fun D => flat_map (fun r => h r (p D)) (q D)).
Proof. intros c c' nm h q p P S C [I O A N]. split.
  - exact I.
  - intros u D D' H. rewrite !(mine_flat_map c) by (intros; eapply C; eassumption). eapply Permutation_trans; [apply flat_map_permutation, O, H |].
    apply flat_map_pointwise. intros. apply S, P.
  - intros u D H. rewrite (mine_flat_map c), A by (assumption || (intros; eapply C; eassumption)). reflexivity.
  - intros D s H X. apply in_flat_map in H. destruct H as [r [H T]]. rewrite (C _ _ _ T) in *. apply (N D); assumption.
Qed.

(** * Partitions that the owner is part of *)

Lemma partitioned_in : forall k w l s, In s (partitioned k w l) ->
  exists y, In y (map k l) /\ In s (w (group k y l)).
Proof. intros k w l s H. apply in_flat_map in H. destruct H as [y [Y H]]. apply nodup_In in Y. eauto. Qed.

Lemma group_in : forall k y l r, In r (group k y l) <-> In r l /\ k r = y.
Proof. intros. unfold group. rewrite filter_In, same_true. reflexivity. Qed.

Lemma partitioned_stable : forall S k w l l', stable S w -> (forall y, S (group k y l)) ->
  Permutation l l' -> Permutation (partitioned k w l) (partitioned k w l').
Proof. intros S k w l l' W G P. unfold partitioned. eapply Permutation_trans.
  - apply flat_map_pointwise. intros y _. apply W; [apply G |]. apply filter_permutation, P.
  - apply flat_map_permutation, nodup_permutation. intros y. split; intros H; eapply Permutation_in; try eassumption; apply Permutation_map; [| apply Permutation_sym]; assumption.
Qed.

Lemma partitioned_mine : forall c c' i k w x l, (forall r, column i (k r) = column c r) -> carries c c' w ->
  Permutation (mine c' x (partitioned k w l)) (partitioned k w (mine c x l)).
Proof. intros c c' i k w x l K C. destruct (value_dec x Null) as [Z | Z]; [subst; constructor |].
  assert (forall l, mine c x l = filter (fun r => is (column c r) x) l) as M by (intros; destruct x; congruence || reflexivity).
  replace (mine c' x (partitioned k w l)) with (filter (fun r => is (column c' r) x) (partitioned k w l)) by (destruct x; congruence || reflexivity).
  unfold partitioned. rewrite filter_flat_map. set (g := fun y => if is (column i y) x then w (group k y (mine c x l)) else []). rewrite (flat_map_same _ _ _ g).
  - rewrite <- (flat_map_filter _ _ g (fun y => is (column i y) x)).
    + rewrite (flat_map_same _ _ g (fun y => w (group k y (mine c x l)))).
      * apply flat_map_permutation. apply NoDup_Permutation.
        -- apply NoDup_filter, NoDup_nodup.
        -- apply NoDup_nodup.
        -- intros y. rewrite filter_In, !nodup_In, is_true, !in_map_iff. split.
           ++ intros [[r [E R]] Y]. exists r. split; [exact E |]. apply mine_in. repeat split; try assumption. rewrite <- K, E. exact Y.
           ++ intros [r [E R]]. apply mine_in in R. destruct R as [R [Y _]]. split; [exists r; split; assumption |]. rewrite <- E, K. exact Y.
      * intros y H. apply filter_In in H. unfold g. destruct H as [_ H]. rewrite H. reflexivity.
    + intros y _ H. unfold g. rewrite H. reflexivity.
  - intros y _. unfold g. destruct (is (column i y) x) eqn:Y.
    + apply is_true in Y. assert (group k y (mine c x l) = group k y l) as E.
      { unfold group. rewrite M, filter_filter_swap. apply filter_all. intros r H. apply filter_In in H. destruct H as [_ H]. apply same_true in H.
        apply is_true. rewrite <- K, H. exact Y. } rewrite E. apply filter_all. intros s H. destruct (C _ _ H) as [r [R T]].
      apply group_in in R. apply is_true. rewrite T, <- K. destruct R as [_ R]. rewrite R. exact Y.
    + apply filter_none. intros s H. destruct (C _ _ H) as [r [R T]]. apply group_in in R. rewrite T, <- K. destruct R as [_ R]. rewrite R. exact Y.
Qed.

(** GROUP BY that contains the owner, and windows that are partitioned by it. *)
Lemma owned_partitioned : forall S c c' i nm k w q, (forall r, column i (k r) = column c r) ->
  carries c c' w -> stable S w -> (forall D x y, S (group k y (mine c x (q D)))) ->
  owned c nm q -> owned c' nm (fun D => partitioned k w (q D)).
Proof. intros S c c' i nm k w q K C W G [I O A N]. split.
  - exact I.
  - intros u D D' H. eapply Permutation_trans; [apply (partitioned_mine c c' i); assumption |].
    eapply Permutation_trans; [| apply Permutation_sym, (partitioned_mine c c' i); assumption]. apply (partitioned_stable S); auto.
  - intros u D H. apply Permutation_nil, Permutation_sym. eapply Permutation_trans; [apply (partitioned_mine c c' i); assumption |]. rewrite A by assumption. constructor.
  - intros D s H X. apply partitioned_in in H. destruct H as [y [_ H]]. destruct (C _ _ H) as [r [R T]]. apply group_in in R. rewrite T in *. apply (N D); [apply R | assumption].
Qed.

(** * Joins by owner *)

Lemma flat_map_only : forall (A B : Type) (dec : forall a b : A, {a = b} + {a <> b}) (g : A -> list B) x V, NoDup V ->
  (forall y, In y V -> y <> x -> g y = []) -> flat_map g V = if in_dec dec x V then g x else [].
Proof. intros A B dec g x V N H. induction V as [| y V IH]; [reflexivity |]. inversion N; subst. simpl flat_map.
  rewrite IH by (assumption || (intros z Z W; apply H; [right; exact Z | exact W])). destruct (dec y x) as [E | E].
  - subst y. destruct (in_dec dec x V) as [Y | Y]; [contradiction |]. destruct (in_dec dec x (x :: V)) as [_ | X]; [apply app_nil_r |]. exfalso. apply X. left. reflexivity.
  - rewrite (H y (or_introl eq_refl) E). simpl app. destruct (in_dec dec x V) as [Y | Y], (in_dec dec x (y :: V)) as [X | X]; try reflexivity; exfalso; simpl in X; intuition congruence.
Qed.

Definition carries_left (c c' : nat) (w : list row -> list row -> list row) : Prop :=
  forall l l' s, In s (w l l') -> exists r, In r l /\ column c' s = column c r.

Definition stable_both (w : list row -> list row -> list row) : Prop :=
  forall a a' b b', Permutation a a' -> Permutation b b' -> Permutation (w a b) (w a' b').

Lemma paired_mine : forall c c' o w x l l', carries_left c o w -> x <> Null ->
  mine o x (paired c c' w l l') = w (mine c x l) (mine c' x l').
Proof. intros c c' o w x l l' C Z. assert (forall b, w [] b = []) as E.
  { intros b. destruct (w [] b) as [| s rest] eqn:E; [reflexivity |]. destruct (C [] b s) as [r [[] _]]. rewrite E. left. reflexivity. }
  replace (mine o x (paired c c' w l l')) with (filter (fun r => is (column o r) x) (paired c c' w l l')) by (destruct x; congruence || reflexivity).
  unfold paired. rewrite filter_flat_map. rewrite (flat_map_only _ _ value_dec _ x); [| apply NoDup_nodup |].
  - replace (is x Null) with false by (symmetry; apply not_true_iff_false; rewrite is_true; assumption). destruct (in_dec value_dec x (nodup value_dec (map (column c) l))) as [H | H].
    + apply filter_all. intros s T. destruct (C _ _ _ T) as [r [R Q]]. apply mine_in in R. apply is_true. rewrite Q. apply R.
    + assert (mine c x l = []) as M.
      { destruct (mine c x l) as [| r rest] eqn:M; [reflexivity |]. exfalso. apply H, nodup_In, in_map_iff.
        exists r. assert (In r (mine c x l)) as R by (rewrite M; left; reflexivity). apply mine_in in R. intuition. } rewrite M, E. reflexivity.
  - intros y _ Y. destruct (is y Null); [reflexivity |]. apply filter_none. intros s T.
    destruct (C _ _ _ T) as [r [R Q]]. apply mine_in in R. apply not_true_iff_false. rewrite is_true, Q. intuition congruence.
Qed.

(** Rows of two private tables meet by their owner. Both sides spell a person in the same way. *)
Lemma owned_paired : forall c c' o nm w a b, carries_left c o w -> stable_both w ->
  owned c nm a -> owned c' nm b -> owned o nm (fun D => paired c c' w (a D) (b D)).
Proof. intros c c' o nm w a b C S [I O A N] [_ O' _ _]. split.
  - exact I.
  - intros u D D' H. destruct (value_dec (nm u) Null) as [Z | Z]; [rewrite Z; constructor |]. rewrite !paired_mine by assumption. apply S; auto.
  - intros u D H. destruct (value_dec (nm u) Null) as [Z | Z]; [rewrite Z; reflexivity |]. rewrite paired_mine, A by assumption.
    destruct (w [] (mine c' (nm u) (b D))) as [| s rest] eqn:E; [reflexivity |]. destruct (C [] (mine c' (nm u) (b D)) s) as [r [[] _]]. rewrite E. left. reflexivity.
  - intros D s H X. unfold paired in H. apply in_flat_map in H. destruct H as [x [_ H]].
    destruct (is x Null); [contradiction |]. destruct (C _ _ _ H) as [r [R T]]. apply mine_in in R. rewrite T in *. apply (N D); [apply R | assumption].
Qed.

End Rules.
