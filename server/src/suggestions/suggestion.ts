import { createHash } from 'node:crypto';
import type { Attribute } from '../catalog/ontology/ontology.ts';
import type { RelationDefinition } from '../relations/definitions/definitions.ts';

/** What the service suggests from the data alone, with its evidence. Source: docs/interface.md §17. */
export type Suggestion = RelationSuggestion | AttributeSuggestion | DuplicateSuggestion;

interface Suggested {
  /** The same for the same suggestion, whatever the counts become. */
  readonly id: string;
}

/** Products that share values: make a relation of it. */
export interface RelationSuggestion extends Suggested {
  readonly kind: 'relation';
  readonly evidence: RelationEvidence;
  readonly draft: RelationDraft;
}

/** The body of `POST …/relations`. */
export type RelationDraft = Pick<
  RelationDefinition,
  'name' | 'tag' | 'twoWay' | 'enabled' | 'source' | 'target' | 'match'
>;

export interface RelationEvidence {
  readonly source: RelatedSide;
  readonly target: RelatedSide;
  /** How many targets a source with any has on average. */
  readonly targetsPerSource: number;
  /** The most frequent first. */
  readonly values: readonly SharedValue[];
  readonly examples: readonly { readonly source: string; readonly target: string }[];
  /** Sources that no target fits. */
  readonly withoutPartner: readonly { readonly identifier: string; readonly values: readonly string[] }[];
}

export interface RelatedSide {
  readonly category: readonly string[];
  readonly products: number;
  readonly withPartner: number;
}

export interface SharedValue {
  readonly attribute: string;
  readonly value: string;
  readonly sources: number;
  readonly targets: number;
}

/** Values that read better as another type, or a key that the ontology lacks: change or add the attribute. */
export interface AttributeSuggestion extends Suggested {
  readonly kind: 'attribute';
  readonly evidence: AttributeEvidence;
  readonly draft: AttributeDraft;
}

/** The body of `POST …/ontology/preview`. */
export interface AttributeDraft {
  readonly attribute: DraftedAttribute;
  /** Ids of attributes whose keys it takes over. */
  readonly deleted?: readonly number[];
}

export type DraftedAttribute = Omit<Attribute, 'id' | 'reason' | 'typing' | 'unitAliases'> & {
  readonly id?: number;
};

export interface AttributeEvidence {
  /** null: the ontology does not know the key. */
  readonly typeNow: Attribute['type'] | null;
  /** With a value. */
  readonly products: number;
  readonly values: number;
  /** Of the values: those that would make a fact. */
  readonly fits: number;
  readonly distinctMisfits: number;
  /** The most frequent first. */
  readonly misfits: readonly CountedValue[];
  readonly examples: readonly CountedValue[];
}

export interface CountedValue {
  readonly value: string;
  readonly count: number;
  readonly identifiers: readonly string[];
}

/** Two attributes that mean one: make the name of one a synonym of the other. */
export interface DuplicateSuggestion extends Suggested {
  readonly kind: 'duplicate';
  readonly evidence: DuplicateEvidence;
  readonly draft: AttributeDraft;
}

export interface DuplicateEvidence {
  /** The one that stays. */
  readonly kept: NamedAttribute;
  readonly dropped: NamedAttribute;
  /** Products with both. */
  readonly withBoth: number;
  /** Of the values of the dropped one: those that the kept one has too. */
  readonly sharedValues: number;
  readonly values: number;
  readonly examples: readonly {
    readonly value: string;
    readonly kept: number;
    readonly dropped: number;
  }[];
  /** Values of the dropped one that the kept one lacks. */
  readonly misfits: readonly CountedValue[];
}

export interface NamedAttribute {
  /** null: the ontology does not know the key. */
  readonly id: number | null;
  readonly name: string;
  readonly type: Attribute['type'] | null;
  readonly products: number;
}

/** @returns the id of a suggestion by what it suggests */
export const idOf = (kind: Suggestion['kind'], subject: unknown): string =>
  `${kind}-${createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 16)}`;
