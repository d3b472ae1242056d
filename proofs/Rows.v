(** Rows with owners, and what it means that a plan is additive over units.

    A row is a list of values. Rows come as lists, and two lists that are permutations of each other are the same multiset. A database gives each private table its rows.
    One column of each private table names the owner of a row, and a row whose owner is NULL is nobody's. *)

From Coq Require Import List Permutation ZArith Lia Bool.
Import ListNotations.

(** Values in canonical form: whoever compares two of them agrees on whether they are equal. *)
Inductive value := Null | Num (number : Z) | Name (name : nat).

Definition value_dec : forall one other : value, {one = other} + {one <> other}.
Proof. decide equality; [apply Z.eq_dec | decide equality]. Defined.

Definition row := list value.

Definition row_dec : forall one other : row, {one = other} + {one <> other} := list_eq_dec value_dec.

Definition column (place : nat) (r : row) : value := nth place r Null.

Definition is (one other : value) : bool := if value_dec one other then true else false.
Definition same (one other : row) : bool := if row_dec one other then true else false.

Lemma is_true : forall one other, is one other = true <-> one = other.
Proof. intros. unfold is. destruct (value_dec one other); split; congruence. Qed.

Lemma same_true : forall one other, same one other = true <-> one = other.
Proof. intros. unfold same. destruct (row_dec one other); split; congruence. Qed.

(** The rows that a person of this name owns. Nobody owns a row without a name. *)
Definition mine (place : nat) (name : value) (rows : list row) : list row :=
  match name with
  | Null => []
  | _ => filter (fun r => is (column place r) name) rows
  end.

Lemma mine_in : forall c x l r, In r (mine c x l) <-> In r l /\ column c r = x /\ x <> Null.
Proof. intros c x l r. unfold mine. destruct x; [ simpl; intuition congruence | | ]; rewrite filter_In, is_true; intuition congruence. Qed.

(** * Filters, permutations, sums *)

Lemma filter_permutation : forall (A : Type) (p : A -> bool) l l',
  Permutation l l' -> Permutation (filter p l) (filter p l').
Proof. intros A p l l' H. induction H; simpl.
  - constructor.
  - destruct (p x); [constructor |]; assumption.
  - destruct (p x), (p y); try apply Permutation_refl. apply perm_swap.
  - eapply Permutation_trans; eassumption.
Qed.
Lemma filter_filter_swap : forall (A : Type) (p q : A -> bool) l,
  filter p (filter q l) = filter q (filter p l).
Proof. intros. induction l as [| a l IH]; [reflexivity |]. simpl. destruct (q a) eqn:Q, (p a) eqn:P; simpl; rewrite ?Q, ?P, IH; reflexivity. Qed.
Lemma filter_all : forall (A : Type) (p : A -> bool) l, (forall a, In a l -> p a = true) -> filter p l = l.
Proof. intros A p l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite H by (left; reflexivity). f_equal. apply IH. intros. apply H. right. assumption. Qed.
Lemma filter_none : forall (A : Type) (p : A -> bool) l, (forall a, In a l -> p a = false) -> filter p l = [].
Proof. intros A p l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite H by (left; reflexivity). apply IH. intros. apply H. right. assumption. Qed.
Lemma filter_same : forall (A : Type) (p q : A -> bool) l,
  (forall a, In a l -> p a = q a) -> filter p l = filter q l.
Proof. intros A p q l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite H by (left; reflexivity). destruct (q a); [f_equal |]; apply IH; intros; apply H; right; assumption.
Qed.
Lemma filter_length_le : forall (A : Type) (p : A -> bool) l, length (filter p l) <= length l.
Proof. intros. induction l; simpl; [lia |]. destruct (p a); simpl; lia. Qed.
Lemma filter_map_swap : forall (A B : Type) (f : A -> B) (p : B -> bool) l,
  filter p (map f l) = map f (filter (fun a => p (f a)) l).
Proof. intros. induction l as [| a l IH]; [reflexivity |]. simpl. destruct (p (f a)); simpl; rewrite IH; reflexivity. Qed.
Lemma filter_flat_map : forall (A B : Type) (f : A -> list B) (p : B -> bool) l,
  filter p (flat_map f l) = flat_map (fun a => filter p (f a)) l.
Proof. intros. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite filter_app, IH. reflexivity. Qed.
Lemma flat_map_same : forall (A B : Type) (f g : A -> list B) l,
  (forall a, In a l -> f a = g a) -> flat_map f l = flat_map g l.
Proof. intros A B f g l H. induction l as [| a l IH]; [reflexivity |]. simpl. rewrite H by (left; reflexivity). f_equal. apply IH. intros. apply H. right. assumption. Qed.
Lemma flat_map_filter : forall (A B : Type) (f : A -> list B) (p : A -> bool) l,
  (forall a, In a l -> p a = false -> f a = []) -> flat_map f (filter p l) = flat_map f l.
Proof. intros A B f p l H. induction l as [| a l IH]; [reflexivity |]. simpl. assert (flat_map f (filter p l) = flat_map f l) as E by (apply IH; intros; apply H; [right |]; assumption).
  destruct (p a) eqn:P; simpl; rewrite E; [reflexivity |]. rewrite H; [reflexivity | left; reflexivity | assumption].
Qed.
Lemma flat_map_pointwise : forall (A B : Type) (f g : A -> list B) l,
  (forall a, In a l -> Permutation (f a) (g a)) -> Permutation (flat_map f l) (flat_map g l).
Proof. intros A B f g l H. induction l as [| a l IH]; [constructor |]. simpl. apply Permutation_app.
  - apply H. left. reflexivity.
  - apply IH. intros. apply H. right. assumption.
Qed.
Lemma flat_map_permutation : forall (A B : Type) (f : A -> list B) l l',
  Permutation l l' -> Permutation (flat_map f l) (flat_map f l').
Proof. intros. apply Permutation_flat_map. assumption. Qed.
Lemma nodup_permutation : forall (A : Type) (dec : forall a b : A, {a = b} + {a <> b}) l l',
  (forall a, In a l <-> In a l') -> Permutation (nodup dec l) (nodup dec l').
Proof. intros. apply NoDup_Permutation; try apply NoDup_nodup. intros. rewrite !nodup_In. apply H. Qed.
Lemma mine_permutation : forall c x l l', Permutation l l' -> Permutation (mine c x l) (mine c x l').
Proof. intros. destruct x; simpl; try apply filter_permutation; auto. Qed.
Lemma mine_app : forall c x l l', mine c x (l ++ l') = mine c x l ++ mine c x l'.
Proof. intros. destruct x; simpl; [reflexivity | |]; apply filter_app. Qed.
Lemma mine_filter : forall c x p l, mine c x (filter p l) = filter p (mine c x l).
Proof. intros. destruct x; simpl; [reflexivity | |]; apply filter_filter_swap. Qed.
Lemma mine_mine : forall c x l, mine c x (mine c x l) = mine c x l.
Proof. intros. destruct x; [reflexivity | |]; apply filter_all; intros a H; apply filter_In in H; apply H. Qed.

(** * Databases and neighbours *)

Definition table := nat.
Definition database := table -> list row.

Section Owners.

(** What the catalog says: which column of a private table names the owner. *)
Variable owner_column : table -> nat.

(** All that a database has of one person. *)
Definition part (person : value) (D : database) (t : table) : list row := mine (owner_column t) person (D t).

(** Two databases that have the same rows of a person. *)
Definition agree (person : value) (D D' : database) : Prop :=
  forall t, Permutation (part person D t) (part person D' t).

Definition absent (person : value) (D : database) : Prop := forall t, part person D t = [].

(** Only what belongs to one person. *)
Definition only (person : value) (D : database) : database := fun t => part person D t.

Lemma agree_only : forall u D, agree u D (only u D).
Proof. intros u D t. unfold only, part. rewrite mine_mine. apply Permutation_refl. Qed.

(** Databases that differ in the rows of one person: that person's rows are changed in any way. *)
Definition changed (person : value) (D D' : database) : Prop :=
  forall other, other <> person -> agree other D D'.

(** The same, where one of the two has no row of that person: the person is added or removed. *)
Definition removed (person : value) (D D' : database) : Prop := changed person D D' /\ absent person D'.

(** * What is judged of a plan *)

Definition query := database -> list row.

(** A conversion of names that never makes two persons one. What it cannot convert is nobody's. *)
Definition injective (convert : value -> value) : Prop :=
  forall one other, convert one = convert other -> convert one <> Null -> one = other.

(** *Public*: no private row decides anything. *)
Definition public (q : query) : Prop := forall D D', Permutation (q D) (q D').

(** *Owned by column [c]*: the rows that carry a person's name in this column are a function of that person's rows, as a multiset; whoever is absent has none;
    and each name is a person's. [name] is how the column spells a person. *)
Record owned (c : nat) (name : value -> value) (q : query) : Prop := {
  owned_injective : injective name;
  owned_depends : forall u D D', agree u D D' -> Permutation (mine c (name u) (q D)) (mine c (name u) (q D'));
  owned_absent : forall u D, absent u D -> mine c (name u) (q D) = [];
  owned_named : forall D r, In r (q D) -> column c r <> Null -> exists u, name u = column c r;
}.

End Owners.
