import type { Token } from 'stream-json/core/parser.js';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  fieldTooLarge,
  LIMITS,
  RowSize,
  RowValues,
  type SourceRow,
  tooDeep,
  writePlainNumber,
} from '../input/input.ts';

type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
interface JsonObject extends Columns<JsonValue> {}

interface Level {
  readonly container: JsonValue[] | JsonObject;
  /** The column that the container belongs to; '' for the row itself. */
  readonly name: string;
  /** Every name in a list may be repeated. */
  readonly isList: boolean;
  /** In a list of objects, the number of the outermost element around the container. */
  readonly row: number | undefined;
  key: string;
}

export interface JsonRow {
  readonly source: JsonValue;
  /**
   * Values by dotted names, such as `price.value`. The elements of a list share one name. Numbers are written as in the
   * file.
   */
  readonly values: Columns<ColumnValue>;
  readonly rows: SourceRow['rows'];
  readonly isObject: boolean;
}

/** Builds one row from tokens: the object itself, and its values by dotted names. */
export class JsonRowBuilder {
  readonly #levels: Level[] = [];
  #values = new RowValues();
  readonly #size = new RowSize('A row');

  /** @returns the row if the token completes it. @throws FormatProblem too_large */
  take(token: Token): JsonRow | undefined {
    switch (token.name) {
      case 'startObject':
        return this.#open(createColumns<JsonValue>());
      case 'startArray':
        return this.#open([]);
      case 'endObject':
      case 'endArray':
        return this.#close();
      case 'keyValue':
        return this.#takeKey(token.value);
      case 'numberValue':
        return this.#takeScalar(Number(token.value), writePlainNumber(token.value));
      case 'stringValue':
        return this.#takeScalar(token.value, token.value);
      case 'nullValue':
        return this.#takeScalar(null, undefined);
      case 'trueValue':
      case 'falseValue':
        return this.#takeScalar(token.value, String(token.value));
      default:
        return undefined;
    }
  }

  get isEmpty(): boolean {
    return this.#levels.length === 0;
  }

  #open(container: Level['container']): undefined {
    this.#size.add(0, 1);
    if (this.#levels.length >= LIMITS.depth) throw tooDeep('A row');
    const parent = this.#levels.at(-1);
    if (parent !== undefined) addValue(parent, container);
    const isList = Array.isArray(container) || parent?.isList === true;
    const isElement = Array.isArray(parent?.container) && !Array.isArray(container);
    const row = parent?.row ?? (isElement ? this.#values.beginRow() : undefined);
    this.#levels.push({ container, name: nameBelow(parent), isList, row, key: '' });
  }

  #close(): JsonRow | undefined {
    const level = this.#levels.pop();
    return level === undefined || this.#levels.length > 0 ? undefined : this.#finish(level.container);
  }

  #takeKey(key: string): undefined {
    this.#size.add(key.length, 1);
    const level = this.#levels.at(-1);
    if (level !== undefined) level.key = key;
  }

  #takeScalar(value: JsonValue, text: string | undefined): JsonRow | undefined {
    const length = text?.length ?? 0;
    if (length > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    this.#size.add(length, 1);
    const level = this.#levels.at(-1);
    if (level === undefined) return this.#finish(value);
    addValue(level, value);
    if (text === undefined) return undefined;
    if (level.row === undefined) this.#values.add(nameBelow(level), text, level.isList);
    else this.#values.addInRow(nameBelow(level), text, level.row);
    return undefined;
  }

  #finish(source: JsonValue): JsonRow {
    const { values, rows } = this.#values;
    this.#values = new RowValues();
    this.#size.reset();
    const isObject = typeof source === 'object' && source !== null && !Array.isArray(source);
    return { source, values, rows, isObject };
  }
}

function addValue(level: Level, value: JsonValue): void {
  if (Array.isArray(level.container)) level.container.push(value);
  else level.container[level.key] = value;
}

/** An element of a list has the name of the list. */
function nameBelow(level: Level | undefined): string {
  if (level === undefined) return '';
  if (Array.isArray(level.container)) return level.name;
  return level.name === '' ? level.key : `${level.name}.${level.key}`;
}
