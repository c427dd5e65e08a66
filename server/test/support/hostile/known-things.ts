import type { OpenApiDocument } from '../../../openapi/document.ts';
import type { HostileCaller } from './hostile-caller.ts';
import type { HostileRequest } from './hostile-requests.ts';

/** The number of things of each kind that remain. */
const KEPT = 25;
const PROJECT = '/management/projects/{id}';
/** Addresses that only answers reveal. */
const SECRET_PATHS = /\/(?:channels\/[\w-]{20,}\/[\w.-]+|etl-triggers\/webhook\/[\w-]{8,})/g;

/** Things that the requests created: their paths, by the path template of the document. */
export class KnownThings {
  private readonly document: OpenApiDocument;
  private readonly caller: HostileCaller;
  private readonly templates: readonly (readonly [string, RegExp])[];
  private readonly pathsByTemplate = new Map<string, string[]>();
  private readonly away = new Set<string>();

  constructor(document: OpenApiDocument, caller: HostileCaller) {
    this.document = document;
    this.caller = caller;
    this.templates = Object.keys(document.paths)
      .filter((path) => path.endsWith('}'))
      .map((path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const);
  }

  list(template: string): readonly string[] {
    return this.pathsByTemplate.get(template) ?? [];
  }

  keepAway(path: string): void {
    this.away.add(path);
  }

  isKeptAway({ method, path }: HostileRequest): boolean {
    const requestedPath = decode(path.split('?', 1)[0] ?? '');
    return (
      method !== 'GET' &&
      [...this.away].some(
        (removedPath) => requestedPath === removedPath || requestedPath.startsWith(`${removedPath}/`),
      )
    );
  }

  /** @returns whether the thing can be read there */
  remember(path: string): boolean {
    const template = this.templates.find(([, fits]) => fits.test(path))?.[0];
    if (template === undefined || this.away.has(path)) return false;
    const list = this.list(template);
    if (!list.includes(path)) this.pathsByTemplate.set(template, [...list, path]);
    return this.document.paths[template]?.get !== undefined;
  }

  rememberTold(text: string, task: { id?: unknown } | undefined): void {
    for (const [path] of text.matchAll(SECRET_PATHS)) this.remember(path);
    if (typeof task?.id === 'string') this.remember(`/tasks/${task.id}`);
  }

  /** Deletes the oldest things above the limit of their kind. It keeps the first, which most requests use. */
  async forgetOldest(): Promise<void> {
    for (const [template, list] of this.pathsByTemplate) {
      const [first, oldest] = list;
      if (list.length <= KEPT || first === undefined || oldest === undefined) continue;
      this.pathsByTemplate.set(template, [first, ...list.slice(2)]);
      await this.delete(template, oldest);
    }
  }

  private async delete(template: string, path: string): Promise<void> {
    if (this.document.paths[template]?.delete === undefined) return;
    const confirm = template === PROJECT ? `?confirm=${await this.readName(path)}` : '';
    const sent = { method: 'DELETE', path: `${path}${confirm}`, headers: {}, body: undefined } as const;
    await this.caller.ask({ ...sent, caller: 'key' });
  }

  private async readName(path: string): Promise<string> {
    const { body } = await this.caller.read(path);
    return encodeURIComponent(String(body?.name ?? '').toWellFormed());
  }
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
