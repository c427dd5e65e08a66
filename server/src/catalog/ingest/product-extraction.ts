import { hash as computeHash } from 'node:crypto';
import type { OpenDerivation } from '../derivation.ts';
import type { Attribute, Extractor, Ontology } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';
import {
  HASH_BYTES,
  listProductErrors,
  type PackedProducts,
  ProductPacker,
  transferOf,
} from '../products/products.ts';
import type { PresentProduct } from '../snapshot.ts';
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
  /** Attributes that a full update is to create. */
  readonly drafts: readonly Attribute[];
}

/** The next batch is as large as the last one, nearly always: growing by doubling would take twice the memory. */
let expectedBytes = 1024 * 1024;

/** Turns the products of one request into rows for the store. */
export class ProductExtraction {
  readonly report = new ReportWriter();
  private readonly parts: ExtractionParts;
  private readonly draftNames: ReadonlySet<string>;
  private readonly packer = new ProductPacker(expectedBytes);
  private unknownIdentifiers = 0;

  constructor(parts: ExtractionParts) {
    this.parts = parts;
    this.draftNames = new Set(parts.drafts.map(({ name }) => name));
    parts.compiled.extractor.tell(this.report);
  }

  add(product: UploadedProduct, present: PresentProduct | undefined): void {
    const { identifier } = product;
    const raw = JSON.stringify(product);
    const hash = hashText(raw);
    this.parts.compiled.extractor.inspect(product);
    if (present !== undefined && Buffer.compare(present.hash, hash) === 0) {
      const { id, document } = present;
      const gains = holdsAny(product, this.draftNames);
      this.packer.addPresent({ identifier, product: id, hash, document, gains });
      return;
    }
    const row = { identifier, product: present?.id ?? 0, hash, document: 0 };
    this.packer.addFresh(row, { raw, derived: this.parts.derivation.derive(product) });
  }

  /** A patch that would make a product which could not be uploaded changes nothing. */
  addPatched(product: UploadedProduct, present: PresentProduct | undefined): void {
    const errors = listProductErrors(product, 'products');
    if (errors.length === 0) this.add(product, present);
    else
      this.report.addSkipped({ skipped: [{ identifier: product.identifier, index: 0, errors }], mended: [] });
  }

  addUnknown(identifier: string): void {
    this.unknownIdentifiers += 1;
    this.report.addUnknownIdentifier(identifier);
  }

  finish(): { output: Extracted; transfer: ArrayBuffer[] } {
    const packed = this.packer.pack();
    expectedBytes = Math.ceil(packed.bytes.length * 1.05) + 256 * 1024;
    const { revision } = this.parts.ontology;
    const output = {
      packed,
      revision,
      derivationRevision: this.parts.derivation.revision,
      report: this.report.toText(),
      unknownIdentifiers: this.unknownIdentifiers,
    };
    return { output, transfer: transferOf(packed) };
  }
}

/** Whether a product holds one of these attributes. */
export const holdsAny = ({ attributes }: UploadedProduct, names: ReadonlySet<string>): boolean =>
  names.size > 0 && attributes.some(({ key }) => names.has(key));

/** 128 bits of SHA-256: equal hashes are taken for equal uploads. */
function hashText(text: string): Uint8Array {
  return computeHash('sha256', text, 'buffer').subarray(0, HASH_BYTES);
}
