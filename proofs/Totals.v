(** Totals over owners: they are additive, and one person moves them by at most the computed bounds. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Require Import Rows Rules Limits.
Import ListNotations.
Local Open Scope Z_scope.

(** * Sums *)

Definition sum {A : Type} (f : A -> Z) (l : list A) : Z := fold_right (fun a s => f a + s) 0 l.

Lemma sum_permutation : forall (A : Type) (f : A -> Z) l l', Permutation l l' -> sum f l = sum f l'.
Proof. intros A f l l' P. induction P; simpl; lia. Qed.
Lemma sum_same : forall (A : Type) (f g : A -> Z) l, (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof. intros A f g l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite (H a) by (left; reflexivity). rewrite IH; [reflexivity |]. intros. apply H. right. assumption. Qed.
Lemma sum_zero : forall (A : Type) (f : A -> Z) l, (forall a, In a l -> f a = 0) -> sum f l = 0.
Proof. intros A f l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite (H a) by (left; reflexivity). rewrite IH; [reflexivity |]. intros. apply H. right. assumption. Qed.
Lemma sum_le : forall (A : Type) (f g : A -> Z) l, (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof. intros A f g l H. induction l as [| a l IH]; [simpl; lia |]. simpl. specialize (H a (or_introl eq_refl)) as H'.
  assert (sum f l <= sum g l) by (apply IH; intros; apply H; right; assumption). lia.
Qed.
Lemma sum_minus : forall (A : Type) (f g : A -> Z) l, sum f l - sum g l = sum (fun a => f a - g a) l.
Proof. intros. induction l; simpl; lia. Qed.
Lemma sum_plus : forall (A : Type) (f g : A -> Z) l, sum f l + sum g l = sum (fun a => f a + g a) l.
Proof. intros. induction l; simpl; lia. Qed.
Lemma sum_scale : forall (A : Type) z (f : A -> Z) l, sum (fun a => z * f a) l = z * sum f l.
Proof. intros. induction l; simpl; lia. Qed.
Lemma sum_split : forall (A : Type) (p : A -> bool) (f : A -> Z) l,
  sum f l = sum f (filter p l) + sum f (filter (fun a => negb (p a)) l).
Proof. intros. induction l as [| a l IH]; [reflexivity |]. simpl. destruct (p a); simpl; lia. Qed.
Lemma sum_map : forall (A B : Type) (g : A -> B) (f : B -> Z) l, sum f (map g l) = sum (fun a => f (g a)) l.
Proof. intros. induction l; simpl; lia. Qed.
Lemma sum_support : forall (A : Type) (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> Z) V W,
  NoDup V -> NoDup W -> incl V W -> (forall a, In a W -> ~ In a V -> f a = 0) -> sum f W = sum f V.
Proof. intros A dec f V W NV NW I Z. set (p := fun a => if in_dec dec a V then true else false). assert (forall a, p a = true <-> In a V) as P
    by (intros; unfold p; destruct (in_dec dec a V); split; intros; try assumption; try discriminate; try reflexivity; contradiction).
  rewrite (sum_split _ p f W). rewrite (sum_zero _ f (filter (fun a => negb (p a)) W)).
  - rewrite Z.add_0_r. apply sum_permutation, NoDup_Permutation; [apply NoDup_filter, NW | exact NV |].
    intros a. rewrite filter_In, P. split; [intros [_ H]; exact H | intros H; split; [apply I |]; exact H].
  - intros a H. apply filter_In in H. destruct H as [H N]. apply Z; [exact H |]. rewrite <- P. destruct (p a); [discriminate | congruence].
Qed.

(** * What one owner adds *)

(** What the rows of one owner add to the number of a group. *)
Definition contribution := list row -> row -> Z.

(** What rows of one owner that are as [P] says add: a function of their multiset; nothing where there are none; between two ends in each group; something in
    at most [K] groups. *)
Record bounded (P : list row -> Prop) (K : nat) (low high : Z) (f : contribution) : Prop := {
  bounded_ends : low <= 0 <= high;
  bounded_stable : forall l l' g, P l -> Permutation l l' -> f l g = f l' g;
  bounded_nothing : forall g, f [] g = 0;
  bounded_range : forall l g, P l -> low <= f l g <= high;
  bounded_groups : forall l G, P l -> NoDup G -> (forall g, In g G -> f l g <> 0) -> (length G <= K)%nat;
}.

(** The farthest that an owner's part lies from zero. *)
Definition farthest (low high : Z) : Z := Z.max (- low) high.

(** * What all owners add *)

Definition names (c : nat) (rows : list row) : list value := nodup value_dec (map (column c) rows).

(** The number of a group: what each owner adds, summed. *)
Definition total (c : nat) (f : contribution) (rows : list row) (g : row) : Z :=
  sum (fun x => f (mine c x rows) g) (names c rows).

Section Totals.

Variable owner_column : table -> nat.
Notation owned := (owned owner_column).
Notation agree := (agree owner_column).
Notation absent := (absent owner_column).
Notation changed := (changed owner_column).
Notation removed := (removed owner_column).
Notation only := (only owner_column).

Variable P : list row -> Prop.
Variables (K : nat) (low high : Z) (f : contribution).
Hypothesis F : bounded P K low high f.

Variables (c : nat) (nm : value -> value) (q : query).
Hypothesis Q : owned c nm q.
Hypothesis L : forall D x, P (mine c x (q D)).

Lemma mine_nobodys : forall x rows, ~ In x (names c rows) -> mine c x rows = [].
Proof. intros x rows H. destruct (mine c x rows) as [| r rest] eqn:E; [reflexivity |].
  assert (In r (mine c x rows)) as R by (rewrite E; left; reflexivity). apply mine_in in R. exfalso. apply H, nodup_In, in_map_iff. exists r. intuition.
Qed.

(** It does not matter over which list of names is summed, if all are in it. *)
Lemma total_over : forall W rows g, NoDup W -> incl (names c rows) W ->
  total c f rows g = sum (fun x => f (mine c x rows) g) W.
Proof. intros W rows g N I. unfold total. symmetry. apply (sum_support _ value_dec); try assumption.
  - apply NoDup_nodup.
  - intros x _ H. rewrite mine_nobodys by assumption. apply (bounded_nothing _ _ _ _ _ F).
Qed.

(** Between two databases that differ in one person, a total moves by what this person adds to each. *)
Lemma moved : forall u D D' g, changed u D D' ->
  total c f (q D) g - total c f (q D') g = f (mine c (nm u) (q D)) g - f (mine c (nm u) (q D')) g.
Proof. intros u D D' g H. set (W := nodup value_dec (nm u :: names c (q D) ++ names c (q D'))). assert (NoDup W) as N by apply NoDup_nodup.
  assert (forall x, In x W <-> In x (nm u :: names c (q D) ++ names c (q D'))) as I by (intros; apply nodup_In).
  rewrite (total_over W (q D)), (total_over W (q D')), sum_minus; try assumption; try (intros x X; apply I; right; apply in_or_app; auto).
  rewrite (sum_support _ value_dec _ [nm u] W); try assumption.
  - simpl. lia.
  - repeat constructor. intros [].
  - intros x [X | []]. subst x. apply I. left. reflexivity.
  - intros x X U. assert (x <> nm u) as X' by (intros E; apply U; left; congruence). destruct (value_dec x Null) as [Z | Z]; [subst x; simpl; lia |].
    assert (exists v, nm v = x) as [v V].
    { apply I in X. destruct X as [X | X]; [congruence |]. apply in_app_or in X.
      destruct X as [X | X]; apply nodup_In, in_map_iff in X; destruct X as [r [E R]]; rewrite <- E; apply (owned_named _ _ _ _ Q _ r R); congruence. }
    rewrite <- V. rewrite (bounded_stable _ _ _ _ _ F _ (mine c (nm v) (q D'))); [lia | apply L |]. apply (owned_depends _ _ _ _ Q), H. congruence.
Qed.

(** One owner's parts before and after. *)
Definition part_of (u : value) (D : database) (g : row) : Z := f (mine c (nm u) (q D)) g.

Lemma part_range : forall u D g, low <= part_of u D g <= high.
Proof. intros. apply (bounded_range _ _ _ _ _ F), L. Qed.

Lemma part_nothing : forall u D g, absent u D -> part_of u D g = 0.
Proof. intros u D g H. unfold part_of. rewrite (owned_absent _ _ _ _ Q) by exact H. apply (bounded_nothing _ _ _ _ _ F). Qed.

(** Whether there is anything. *)
Definition there (z : Z) : Z := if z =? 0 then 0 else 1.

Lemma part_groups : forall u D G, NoDup G -> sum (fun g => there (part_of u D g)) G <= Z.of_nat K.
Proof. intros u D G N. set (p := fun g => negb (part_of u D g =? 0)). assert (sum (fun g => there (part_of u D g)) G = Z.of_nat (length (filter p G))) as E.
  { clear N. induction G as [| g G IH]; [reflexivity |]. cbn [sum fold_right filter].
    fold (sum (fun g => there (part_of u D g)) G). rewrite IH. unfold p at 2, there. destruct (part_of u D g =? 0); cbn [negb length]; lia. }
  rewrite E. apply inj_le. apply (bounded_groups _ _ _ _ _ F (mine c (nm u) (q D)) (filter p G)).
  - apply L.
  - apply NoDup_filter, N.
  - intros g H. apply filter_In in H. destruct H as [_ H]. unfold p, part_of in H. intros Z. rewrite Z in H. discriminate.
Qed.

(** ** Additivity *)

Lemma part_of_only : forall u v D g, part_of u (only v D) g = if value_dec u v then part_of u D g else 0.
Proof. intros u v D g. destruct (value_dec u v) as [E | E].
  - subst v. symmetry. unfold part_of. apply (bounded_stable _ _ _ _ _ F); [apply L |]. apply (owned_depends _ _ _ _ Q). apply agree_only.
  - apply part_nothing. intros t. unfold Rows.part, Rows.only, Rows.part. destruct (mine (owner_column t) u (mine (owner_column t) v (D t))) as [| r rest] eqn:X; [reflexivity |].
    assert (In r (r :: rest)) as R by (left; reflexivity). rewrite <- X in R. apply mine_in in R. destruct R as [R [E1 _]]. apply mine_in in R. destruct R as [_ [E2 _]]. congruence.
Qed.

(** A total is the sum of what its persons add. [U] are persons, among them all who have rows. *)
Lemma total_of_persons : forall D U g, NoDup U -> (forall u, ~ In u U -> absent u D) ->
  total c f (q D) g = sum (fun u => part_of u D g) U.
Proof. intros D U g N A. set (V := filter (fun u => negb (is (nm u) Null)) U). assert (forall u, In u V <-> In u U /\ nm u <> Null) as IV.
  { intros u. unfold V. rewrite filter_In. destruct (is (nm u) Null) eqn:E; simpl.
    - apply is_true in E. intuition congruence.
    - assert (nm u <> Null) by (intros X; apply is_true in X; congruence). intuition. } assert (NoDup (map nm V)) as NV.
  { assert (forall W, incl W V -> NoDup W -> NoDup (map nm W)) as B.
    { intros W I NW. induction NW as [| u W X NW IH]; [constructor |]. simpl. constructor.
      - intros Y. apply in_map_iff in Y. destruct Y as [v [E Y]]. apply X. replace u with v; [exact Y |]. apply (owned_injective _ _ _ _ Q); [exact E |]. apply IV, I. right. exact Y.
      - apply IH. intros v Y. apply I. right. exact Y. } apply B; [apply incl_refl | apply NoDup_filter, N]. } transitivity (sum (fun x => f (mine c x (q D)) g) (map nm V)).
  - set (W := filter (fun x => negb (is x Null)) (names c (q D))). assert (forall x, In x W <-> In x (names c (q D)) /\ x <> Null) as IW.
    { intros x. unfold W. rewrite filter_In. destruct (is x Null) eqn:E; simpl.
      - apply is_true in E. intuition congruence.
      - assert (x <> Null) by (intros X; apply is_true in X; congruence). intuition. } transitivity (sum (fun x => f (mine c x (q D)) g) W).
    + apply (sum_support _ value_dec).
      * apply NoDup_filter, NoDup_nodup.
      * apply NoDup_nodup.
      * intros x X. apply IW, X.
      * intros x X Y. destruct (value_dec x Null) as [Z | Z]; [subst; apply (bounded_nothing _ _ _ _ _ F) |]. exfalso. apply Y, IW. split; assumption.
    + symmetry. apply (sum_support _ value_dec); try assumption.
      * apply NoDup_filter, NoDup_nodup.
      * intros x X. apply IW in X. destruct X as [X Z]. apply nodup_In, in_map_iff in X. destruct X as [r [E R]]. destruct (owned_named _ _ _ _ Q D r R) as [u E']; [congruence |].
        apply in_map_iff. exists u. split; [congruence |]. apply IV. split; [| congruence]. destruct (in_dec value_dec u U) as [I | I]; [exact I |]. exfalso.
        assert (In r (mine c (nm u) (q D))) as M by (apply mine_in; repeat split; congruence || assumption). rewrite (owned_absent _ _ _ _ Q u D (A u I)) in M. exact M.
      * intros x X Y. rewrite mine_nobodys; [apply (bounded_nothing _ _ _ _ _ F) |].
        intros H. apply Y, IW. split; [exact H |]. apply in_map_iff in X. destruct X as [u [E X]]. apply IV in X. intuition congruence.
  - rewrite sum_map. symmetry. apply (sum_support _ value_dec).
    + apply NoDup_filter, N.
    + exact N.
    + intros u X. apply IV, X.
    + intros u X Y. unfold part_of. destruct (value_dec (nm u) Null) as [Z | Z].
      * rewrite Z. apply (bounded_nothing _ _ _ _ _ F).
      * exfalso. apply Y, IV. split; assumption.
Qed.

(** Additive over units: f(D) = Σᵤ f(Dᵤ). *)
Theorem additive : forall D U g, NoDup U -> (forall u, ~ In u U -> absent u D) ->
  total c f (q D) g = sum (fun u => total c f (q (only u D)) g) U.
Proof. intros D U g N A. rewrite (total_of_persons D U g N A). apply sum_same. intros u _. rewrite (total_of_persons (only u D) [u] g).
  - simpl. rewrite part_of_only. destruct (value_dec u u); [lia | congruence].
  - repeat constructor. intros [].
  - intros v V t. unfold Rows.part, Rows.only, Rows.part. destruct (mine (owner_column t) v (mine (owner_column t) u (D t))) as [| r rest] eqn:X; [reflexivity |].
    assert (In r (r :: rest)) as R by (left; reflexivity). rewrite <- X in R.
    apply mine_in in R. destruct R as [R [E1 _]]. apply mine_in in R. destruct R as [_ [E2 _]]. exfalso. apply V. left. congruence.
Qed.

(** ** One person added, removed or changed *)

(** What moves: at most so many groups, each by at most so much, and all together by at most so much in ℓ1 and, squared, in ℓ2. *)
Definition within (groups : nat) (each all squares : Z) (d : row -> Z) : Prop := forall G, NoDup G ->
  (forall g, Z.abs (d g) <= each) /\ ((forall g, In g G -> d g <> 0) -> (length G <= groups)%nat)
  /\ sum (fun g => Z.abs (d g)) G <= all /\ sum (fun g => d g * d g) G <= squares.

Lemma within_weights : forall d w N each A M squares, (forall G, NoDup G -> sum w G <= Z.of_nat N) -> 0 <= A -> 0 <= M ->
  (forall g, Z.abs (d g) <= each /\ Z.abs (d g) <= A * w g /\ 2 * (d g * d g) <= M * w g /\ (d g <> 0 -> 1 <= w g)) ->
  M * Z.of_nat N <= 2 * squares -> within N each (A * Z.of_nat N) squares d.
Proof. intros d w N each A M squares W HA HM H S G NG. specialize (W G NG). repeat split.
  - apply H.
  - intros NZ. apply Nat2Z.inj_le. etransitivity; [| exact W]. assert (forall l : list row, (forall g, In g l -> d g <> 0) -> Z.of_nat (length l) <= sum w l) as X.
    { induction l as [| g l IH]; intros I; [simpl; lia |]. cbn [length sum fold_right]. fold (sum w l).
      destruct (H g) as [_ [_ [_ T]]]. specialize (T (I g (or_introl eq_refl))). specialize (IH (fun g X => I g (or_intror X))). lia. } apply X, NZ.
  - transitivity (sum (fun g => A * w g) G); [apply sum_le; intros g _; apply H |]. rewrite sum_scale. nia.
  - assert (2 * sum (fun g => d g * d g) G <= M * sum w G); [| nia]. rewrite <- !sum_scale. apply sum_le. intros g _. apply H.
Qed.

Definition move (D D' : database) (g : row) : Z := total c f (q D) g - total c f (q D') g.

(** The sensitivity for neighbours that differ in one person who is there or not. *)
Theorem removed_moves : forall u D D', removed u D D' ->
  within K (farthest low high) (farthest low high * Z.of_nat K)
    (farthest low high * farthest low high * Z.of_nat K) (move D D').
Proof. intros u D D' [C A]. pose proof (bounded_ends _ _ _ _ _ F) as E.
  apply within_weights with (w := fun g => there (part_of u D g)) (M := 2 * (farthest low high * farthest low high)).
  - apply part_groups.
  - unfold farthest. lia.
  - nia.
  - intros g. unfold move. rewrite (moved u) by exact C. fold (part_of u D g). fold (part_of u D' g). rewrite (part_nothing u D' g A), Z.sub_0_r. pose proof (part_range u D g) as R.
    set (a := part_of u D g) in *. assert (- farthest low high <= a <= farthest low high) by (unfold farthest; lia).
    assert (a * a <= farthest low high * farthest low high) by nia. unfold there. destruct (Z.eqb_spec a 0) as [Za | Za]; rewrite ?Za in *; lia.
  - lia.
Qed.

(** The sensitivity for neighbours that differ in all rows of one person. *)
Theorem changed_moves : forall u D D', changed u D D' ->
  within (2 * K) (high - low) (farthest low high * Z.of_nat (2 * K))
    (Z.max ((high - low) * (high - low)) (2 * (farthest low high * farthest low high)) * Z.of_nat K) (move D D').
Proof. intros u D D' C. pose proof (bounded_ends _ _ _ _ _ F) as E. set (M := Z.max ((high - low) * (high - low)) (2 * (farthest low high * farthest low high))).
  apply within_weights with (w := fun g => there (part_of u D g) + there (part_of u D' g)) (M := M).
  - intros G N. rewrite <- sum_plus. pose proof (part_groups u D G N). pose proof (part_groups u D' G N). lia.
  - unfold farthest. lia.
  - unfold M. nia.
  - intros g. unfold move. rewrite (moved u) by exact C. fold (part_of u D g). fold (part_of u D' g).
    pose proof (part_range u D g) as A. pose proof (part_range u D' g) as B. set (a := part_of u D g) in *. set (b := part_of u D' g) in *.
    assert (- farthest low high <= a <= farthest low high /\ - farthest low high <= b <= farthest low high) as [Ra Rb] by (unfold farthest; lia).
    assert ((a - b) * (a - b) <= M) by (assert (- (high - low) <= a - b <= high - low) by lia; unfold M; nia).
    assert (2 * (a * a) <= M) by (assert (a * a <= farthest low high * farthest low high) by nia; unfold M; lia).
    assert (2 * (b * b) <= M) by (assert (b * b <= farthest low high * farthest low high) by nia; unfold M; lia).
    unfold there. destruct (Z.eqb_spec a 0) as [Za | Za], (Z.eqb_spec b 0) as [Zb | Zb].
    + replace ((a - b) * (a - b)) with 0 by (rewrite Za, Zb; ring). lia.
    + replace ((a - b) * (a - b)) with (b * b) by (rewrite Za; ring). lia.
    + replace ((a - b) * (a - b)) with (a * a) by (rewrite Zb; ring). lia.
    + lia.
  - lia.
Qed.

End Totals.
