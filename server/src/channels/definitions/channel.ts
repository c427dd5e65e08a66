import type { Filter } from '../../catalog/filters/filters.ts';
import type { Defined } from '../../definitions/definitions.ts';
import type { Destination } from '../destinations/destinations.ts';
import type { ChosenFormat, RelatedAs } from '../formats/formats.ts';
import type { ChannelMapping } from '../mapping/mapping.ts';

/** Source: docs/interface.md §16.4. */
export type Trigger =
  | { readonly type: 'manual' }
  | { readonly type: 'schedule'; readonly cron: string; readonly timeZone: string }
  | { readonly type: 'change'; readonly minSecondsBetween: number };

/** Related products that go out: of one relation, or of all with a tag. */
export interface ChannelRelation {
  readonly tag?: string | undefined;
  readonly id?: number | undefined;
  readonly as: RelatedAs;
  /** Of each relation, for each product. */
  readonly limit: number;
}

/** Source: docs/interface.md §16.1, with its defaults filled in. */
export interface ChannelDefinition {
  readonly name: string;
  readonly format: ChosenFormat;
  readonly filter: Filter;
  /** Absent: suggested by each build from the ontology as it is then. */
  readonly mapping?: ChannelMapping | undefined;
  readonly relations: readonly ChannelRelation[];
  readonly trigger: Trigger;
  /** With *** in place of what is sealed. */
  readonly destinations: readonly Destination[];
  readonly maxDeletePercent: number;
  readonly maxLeftOutPercent: number;
}

/** What the service notes of a channel. */
export interface ChannelState {
  /** Part of the published address. */
  readonly token: string;
  /** The version of the catalog whose change the last build followed. */
  readonly builtVersion: number | undefined;
  /** The task of the snapshot that is served. */
  readonly published: number | undefined;
}

export type Channel = Defined<ChannelDefinition, ChannelState>;

export type BuildStart = 'manual' | 'schedule' | 'change';

/** A part of a file. */
export interface FilePiece {
  /** Of the payload. */
  readonly name: string;
  readonly sizeBytes: number;
}

/** A file that is served as it is. */
export interface FeedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly rows: number;
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string;
  readonly pieces: readonly FilePiece[];
}

/** What a build made: one catalog version, and never changed. */
export interface Snapshot {
  readonly projectId: number;
  readonly channelId: number;
  readonly taskNumber: number;
  readonly catalogVersion: number;
  readonly rows: number;
  readonly files: readonly FeedFile[];
  readonly createdAt: number;
}

/** Of a build. */
export interface BuildCounts {
  /** Of the catalog. */
  readonly products: number;
  /** Products that the filter left out. */
  readonly filtered: number;
  readonly rows: number;
  /** Products that lack what the format requires. */
  readonly leftOut: number;
  /** Related products, of all rows. */
  readonly related: number;
  /** Related products, of all rows, that do not go out themselves. */
  readonly relatedLeftOut: number;
  readonly files: number;
  readonly bytes: number;
}

export const NO_COUNTS: BuildCounts = {
  ...{ products: 0, filtered: 0, rows: 0, leftOut: 0, related: 0, relatedLeftOut: 0, files: 0, bytes: 0 },
};
