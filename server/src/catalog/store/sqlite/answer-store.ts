import type { CatalogFile } from '../../../storage/storage.ts';
import { KeptWriter, MADE_AT_ONCE_BYTES, type ServedAnswer } from '../../lookup/lookup.ts';
import type { AnswerWriter } from '../../ontology/ontology.ts';
import type { AnsweredProduct } from '../../port.ts';
import { readOntology } from '../state-store.ts';
import { findCategoryId, findServed, findStored, readCatalogVersion } from './reader-store.ts';

/** Answers of a catalog file, made of its uploads; call it on a snapshot. */
export interface FileAnswers {
  /** Reads and makes so much and no more: then an answer is 'long'. */
  findServed(file: CatalogFile, version: number): (identifier: string) => ServedAnswer | 'long' | undefined;
  findAnswered(file: CatalogFile, identifier: string): AnsweredProduct | undefined;
}

export function createFileAnswers(): FileAnswers {
  const writers = new WeakMap<CatalogFile, KeptWriter>();

  function openWriter(file: CatalogFile, version: number): AnswerWriter {
    const kept = writers.get(file) ?? new KeptWriter((path) => findCategoryId(file, path));
    writers.set(file, kept);
    return kept.find(version) ?? kept.follow(version, file.perform(readOntology()));
  }

  return {
    findServed(file, version) {
      const writer = openWriter(file, version);
      writer.begin();
      let left = MADE_AT_ONCE_BYTES;
      return (identifier) => {
        const found = findServed(file, identifier, left);
        if (found === undefined) return undefined;
        const { id, updatedAt, raw } = found;
        if (raw === 'long') return raw;
        left -= raw.length;
        return { id, updatedAt, answer: writer.write(raw) };
      };
    },
    findAnswered(file, identifier) {
      const stored = findStored(file, identifier);
      if (stored === undefined) return undefined;
      const writer = openWriter(file, readCatalogVersion(file));
      writer.begin();
      return { ...stored, answer: writer.write(Buffer.from(stored.raw)).toString() };
    },
  };
}
