import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Figure } from '../support/measurement.ts';
import type { BenchService, Settings } from '../support/service.ts';
import type { Answered, ServiceClient, TaskAnswer } from '../support/service-client.ts';

/** A hostile load of one caller, during which the requests of another account are measured. */
export interface HostileLoad {
  readonly name: string;
  readonly title: string;
  readonly settings?: Settings;
  /** The requests of the other account; default: lookups. */
  readonly victim?: VictimRequests;
  /** Runs before any measurement. */
  prepare?(attack: Attack): Promise<void>;
  /** Runs before the other account opens its connections. */
  begin?(attack: Attack): Promise<void>;
  /** Ends without a stop, at the latest when the time of the attack is over. */
  run(attack: Attack): Promise<void>;
}

export type VictimRequests = 'lookup' | 'search';

/** The other account, which owns a separate project. */
export interface Victim {
  readonly client: ServiceClient;
  readonly projectId: number;
}

export interface Sent {
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  /** Null: no key. Default: the key of the account. */
  readonly key?: string | null;
  readonly encoding?: string;
  /** Compressed with gzip. */
  readonly body?: Buffer;
  /** Sent as JSON, not compressed. */
  readonly json?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller closes its connection after this time. */
  readonly hangUpMs?: number;
}

/** The facts about an attack that its loads need. */
export interface AttackOrder {
  readonly projectId: number;
  readonly readKey: string;
  readonly seconds: number;
  /** The number of products that the benchmark calls a million. */
  readonly million: number;
  readonly victim: Victim;
}

/** The longest duration of any part of a load, whatever the service does. */
export const LONGEST_MS = 90_000;
const LONGEST_INDEX_MS = 300_000;
/** The maximum number of requests per load. */
const MOST_REQUESTS = 50_000;

/** Whether a search was made without an index. */
export const isPartial = ({ text }: Pick<Answered, 'text'>) => text.includes('"partial":true');

/** An attacker of a service: an account, a project, and a key with read access only. */
export class Attack {
  readonly service: BenchService;
  readonly order: AttackOrder;
  readonly projectId: number;
  readonly readKey: string;
  readonly seconds: number;
  /** The number of answers by status, and of connections ended by the service. */
  readonly outcomes = new Map<string, number>();
  /** Figures of the load itself, besides the waits of the other account and the memory. */
  readonly figures: Figure[] = [];
  readonly sockets = new Set<Socket>();
  private readonly agent = new Agent({ keepAlive: true });
  private readonly end = new AbortController();
  private readonly refusals = new Map<number, string>();
  private sent = 0;

  constructor(service: BenchService, order: AttackOrder) {
    this.service = service;
    this.order = order;
    this.projectId = order.projectId;
    this.readKey = order.readKey;
    this.seconds = order.seconds;
  }

  get isOver(): boolean {
    return this.end.signal.aborted;
  }

  /** @returns the outcome once the answer has been read to its end, or the connection has ended */
  async send(sent: Sent): Promise<string> {
    const { path, method = 'GET', hangUpMs } = sent;
    const { hostname, port } = new URL(this.service.address);
    const body = sent.json === undefined ? sent.body : Buffer.from(JSON.stringify(sent.json));
    const headers = describeHeaders(sent, this.service.key, body);
    this.sent += 1;
    const outcome = await new Promise<string>((resolve) => {
      const { agent, end } = this;
      const signal =
        hangUpMs === undefined ? end.signal : AbortSignal.any([end.signal, AbortSignal.timeout(hangUpMs)]);
      const onError = ({ code, name }: NodeJS.ErrnoException) => resolve(code ?? name);
      const onAnswer = (answer: IncomingMessage) => {
        const status = answer.statusCode ?? 0;
        if (status >= 400) answer.once('data', (bytes: Buffer) => this.noteRefusal(status, bytes));
        answer
          .on('error', onError)
          .on('end', () => resolve(String(status)))
          .resume();
      };
      request({ agent, hostname, port, path, method, headers, signal }, onAnswer)
        .on('error', onError)
        .end(body);
    });
    this.count(outcome);
    return outcome;
  }

  /** Repeats the requests on `atOnce` connections until the time of the load is over. */
  async repeat(atOnce: number, listed: readonly Sent[]): Promise<void> {
    const until = performance.now() + this.seconds * 1_000;
    const run = async (_: unknown, first: number) => {
      for (let at = first; performance.now() < until && this.sent < MOST_REQUESTS && !this.isOver; at += 1)
        await this.send(listed[at % listed.length] as Sent);
    };
    await Promise.all(Array.from({ length: atOnce }, run));
  }

  /** A connection that requests the liveness check and is opened again whenever it ends. */
  async hold(everyMs: number): Promise<void> {
    const { hostname, port } = new URL(this.service.address);
    const ask = () => socket.write(`GET /health/live HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    const socket = connect(Number(port), hostname, ask).resume();
    const timer = setInterval(ask, everyMs);
    this.sockets.add(socket);
    socket.on('error', () => {}).once('data', () => this.count('held'));
    socket.once('close', () => {
      clearInterval(timer);
      this.sockets.delete(socket);
      this.count('ended');
      if (!this.isOver) setTimeout(() => !this.isOver && void this.hold(everyMs), REOPENED_MS);
    });
  }

  /** Waits for the end of the work, at most for the longest time of a load. */
  async during(work: Promise<unknown>): Promise<void> {
    const timer = setTimeout(() => this.end.abort(), LONGEST_MS);
    const isOver = new Promise<void>((resolve) => this.end.signal.addEventListener('abort', () => resolve()));
    await Promise.race([work, isOver]).finally(() => clearTimeout(timer));
  }

  /** Waits until searches use an index, which the first search makes. */
  async waitForSearch(words: string): Promise<void> {
    const path = `/search/products?projectId=${this.projectId}&q=${encodeURIComponent(words)}`;
    const until = performance.now() + LONGEST_INDEX_MS;
    while (isPartial(await this.service.call('GET', path))) {
      if (performance.now() > until) throw new Error(`no index of search after ${LONGEST_INDEX_MS} ms`);
      await pause(500);
    }
  }

  /** @returns the last state of the task, which has not ended if the attack ended before */
  async waitForTask(id: string): Promise<string> {
    for (;;) {
      const { task } = await this.service.succeed<TaskAnswer>('GET', `/tasks/${id}?wait=10`);
      if (task.finishTime !== null || this.isOver) return task.taskStatus;
    }
  }

  /** @returns an attack on a separate project, which ends with this attack */
  async openBeside(name: string): Promise<Attack> {
    const projectId = await this.service.createProject(name);
    const beside = new Attack(this.service, { ...this.order, projectId });
    this.end.signal.addEventListener('abort', () => beside.stop());
    return beside;
  }

  stop(): void {
    this.end.abort();
    for (const socket of this.sockets) socket.destroy();
    this.agent.destroy();
  }

  /** @returns the outcomes, and the first refusal of each status */
  describe(): string {
    const counts = [...this.outcomes].map(([outcome, count]) => `${count} × ${outcome}`);
    return [...counts, ...this.refusals.values()].join(', ');
  }

  private noteRefusal(status: number, bytes: Buffer): void {
    if (!this.refusals.has(status)) this.refusals.set(status, bytes.toString().slice(0, SHOWN_CHARACTERS));
  }

  private count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }
}

function describeHeaders({ key, encoding, json, headers }: Sent, ownKey: string, body: Buffer | undefined) {
  return {
    ...(key !== null && { authorization: `Bearer ${key ?? ownKey}` }),
    ...(encoding && { 'accept-encoding': encoding }),
    ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
    ...(body && json === undefined && { 'content-encoding': 'gzip' }),
    ...headers,
  };
}

const REOPENED_MS = 200;
/** Of the text of a refusal. */
const SHOWN_CHARACTERS = 200;
