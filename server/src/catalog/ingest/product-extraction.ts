import { hash } from 'node:crypto';
import type { OpenDerivation } from '../derivation.ts';
import type { Attribute, Ontology } from '../ontology/ontology.ts';
import { answerBound, type Extractor } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';
import { HASH_BYTES, type PackedProducts, ProductPacker, transferOf } from '../products/products.ts';
import type { PresentProduct } from '../snapshot.ts';
import { ReportWriter } from './report-writer.ts';

/** A project's ontology made ready for extraction. */
export interface CompiledOntology {
  readonly signature: string;
  readonly extractor: Extractor;
  /** By key of an upload. */
  readonly known: ReadonlyMap<string, Attribute>;
  readonly longestName: number;
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
const EXPECTED_REFRESHED_BYTES = 4 * 1024 * 1024;

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
    const { extractor, longestName } = this.parts.compiled;
    const { revision } = this.parts.ontology;
    const { identifier } = product;
    const raw = JSON.stringify(product);
    const productHash = hashText(raw);
    const isSame = present !== undefined && Buffer.compare(present.hash, productHash) === 0;
    if (isSame && !this.gainsFacts(product)) {
      extractor.inspect(product);
      this.packer.addPresent({ ...present, product: present.id, identifier, hash: productHash });
      return;
    }
    // The sign tells the commit that an equal upload changes all the same: it gains facts of new attributes.
    const row = {
      identifier,
      product: present?.id ?? 0,
      hash: productHash,
      document: 0,
      revision: isSame ? -revision : revision,
    };
    const derived = this.parts.derivation.derive(product);
    this.packer.addFresh(
      row,
      { raw, derived },
      {
        bound: answerBound(product, raw.length, longestName),
        write: (target, start) => extractor.writeAnswer(product, target, start),
      },
    );
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

  private gainsFacts({ attributes }: UploadedProduct): boolean {
    return this.draftNames.size > 0 && attributes.some(({ key }) => this.draftNames.has(key));
  }
}

/** Makes the answers of stored uploads again. Those that are not fresh belong to others and are only reported. */
export function extractStored(
  rows: readonly {
    identifier: string;
    document: number;
    isFresh?: number;
    product: UploadedProduct;
    /** Of the upload as JSON. */
    length: number;
  }[],
  {
    ontology: { revision },
    compiled: { extractor, longestName },
  }: Pick<ExtractionParts, 'ontology' | 'compiled'>,
) {
  const report = new ReportWriter();
  extractor.tell(report);
  const packer = new ProductPacker(EXPECTED_REFRESHED_BYTES);
  const noHash = new Uint8Array(HASH_BYTES);
  const documents: number[] = [];
  for (const { identifier, document, product, length, isFresh = 1 } of rows) {
    if (isFresh === 0) {
      extractor.inspect(product);
      continue;
    }
    documents.push(document);
    const row = { identifier, product: 0, hash: noHash, document, revision };
    packer.addFresh(
      row,
      { raw: '', derived: '' },
      {
        bound: answerBound(product, length, longestName),
        write: (target, start) => extractor.writeAnswer(product, target, start),
      },
    );
  }
  const packed = packer.pack();
  const owners = Float64Array.from(documents);
  const output = { packed, documents: owners, report: report.toText(), revision };
  return { output, transfer: [...transferOf(packed), owners.buffer] };
}

/** 128 bits of SHA-256: equal hashes are taken for equal uploads. */
function hashText(text: string): Uint8Array {
  return hash('sha256', text, 'buffer').subarray(0, HASH_BYTES);
}
