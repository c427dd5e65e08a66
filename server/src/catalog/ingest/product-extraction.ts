import type { OpenDerivation } from '../derivation.ts';
import { type Attribute, type Extractor, indexByKey, isBlank, type Ontology } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';
import { listProductErrors, type PackedProducts, ProductPacker, transferOf } from '../products/products.ts';
import type { PresentProduct } from '../snapshot.ts';
import type { ProductSource } from './product-source.ts';
import { ReportWriter } from './report-writer.ts';

/** A project's ontology made ready for extraction. */
export interface CompiledOntology {
  readonly signature: string;
  readonly extractor: Extractor;
  /** By key of an upload. */
  readonly known: ReadonlyMap<string, Attribute>;
}

export interface Extracted {
  readonly packed: PackedProducts;
  readonly revision: number;
  readonly derivationRevision: number;
  /** NDJSON. */
  readonly report: string;
  readonly unknownIdentifiers: number;
}

export interface ExtractionParts {
  readonly ontology: Ontology;
  readonly compiled: CompiledOntology;
  readonly derivation: OpenDerivation;
  readonly catalogVersion: number;
  /** Attributes that a full update is to create. */
  readonly drafts: readonly Attribute[];
  /** Where products are packed. */
  readonly room: Uint8Array<SharedArrayBuffer>;
}

/** Turns the products of one request into rows for the store. */
export class ProductExtraction {
  readonly report = new ReportWriter();
  private readonly source: ProductSource;
  private readonly parts: ExtractionParts;
  private readonly draftNames: ReadonlySet<string>;
  private readonly packer: ProductPacker;
  private readonly inspect: (row: number) => void;
  private unknownIdentifiers = 0;

  constructor(source: ProductSource, parts: ExtractionParts) {
    this.source = source;
    this.parts = parts;
    this.packer = new ProductPacker(parts.room.buffer);
    this.draftNames = listKeys(parts.drafts);
    parts.compiled.extractor.tell(this.report);
    this.inspect = source.inspectBy(parts.compiled.extractor);
  }

  add(row: number, identifier: string, present: PresentProduct | undefined): void {
    const { source, packer } = this;
    packer.begin(identifier);
    source.write(row, packer);
    const hash = packer.hashRaw();
    this.inspect(row);
    if (present?.hash === hash) {
      const { id, document } = present;
      this.report.changed.delete(identifier);
      const gains = this.draftNames.size > 0 && holdsAny(source.read(row), this.draftNames);
      packer.endPresent({ product: id, hash, document, gains });
      return;
    }
    const derived = this.parts.derivation.derive((keys) => source.readDerivedFrom(row, keys));
    packer.endFresh({ product: present?.id ?? 0, hash, document: 0 }, derived);
  }

  /** A patch that would make a product which could not be uploaded changes nothing. */
  addPatched(row: number, identifier: string, present: PresentProduct): void {
    const errors = listProductErrors(this.source.read(row), 'products');
    if (errors.length === 0) this.add(row, identifier, present);
    else this.report.addSkipped({ skipped: [{ identifier, index: 0, errors }], mended: [] });
  }

  addUnknown(identifier: string): void {
    this.unknownIdentifiers += 1;
    this.report.addUnknownIdentifier(identifier);
  }

  finish(): { output: Extracted; transfer: ArrayBuffer[]; sharedBytes: number } {
    const packed = this.packer.pack(this.parts.catalogVersion);
    const { revision } = this.parts.ontology;
    const output = {
      packed,
      revision,
      derivationRevision: this.parts.derivation.revision,
      report: this.report.toText(),
      unknownIdentifiers: this.unknownIdentifiers,
    };
    return { output, transfer: transferOf(packed), sharedBytes: packed.bytes.length };
  }
}

export const listKeys = (attributes: readonly Attribute[]): ReadonlySet<string> =>
  new Set(indexByKey(attributes).keys());

/** Whether a product holds a value of one of these attributes. */
export const holdsAny = ({ attributes }: UploadedProduct, names: ReadonlySet<string>): boolean =>
  attributes.some(({ key, value }) => names.has(key) && !isBlank(value));
