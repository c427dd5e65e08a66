import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { runRelataWith } from '../relata-command.ts';
import { type ServiceProcess, startProcess, startProgram } from '../service-process.ts';
import { embeddedStoreAt, type TestStore } from '../test-store.ts';
import type { Cluster } from './play-history.ts';

/** A service on the embedded store with a continuous backup, and a standby that follows and replaces it, repeatedly. */

/** The answers of a standby are about a second old, and older on a busy machine. */
const BEHIND_MS = 15_000;
/** Answers given so shortly before the loss of a directory may be lost with it. */
const LOST_MS = 5_000;

interface Member {
  readonly store: TestStore;
  process: ServiceProcess;
}

export class StandbyCluster implements Cluster {
  readonly counts = { kills: 0, pauses: 0, handovers: 0, losses: 0 };
  private readonly root: string;
  private readonly random: () => number;
  private readonly settings: Record<string, string>;
  private writer: Member;
  private standby: Member | undefined;
  private made = 1;

  private constructor(root: string, random: () => number, writer: Member) {
    this.root = root;
    this.random = random;
    this.settings = settingsIn(root);
    this.writer = writer;
  }

  static async start(random: () => number): Promise<StandbyCluster> {
    const root = await mkdtemp(join(tmpdir(), 'relata-history-'));
    const store = embeddedStoreAt(join(root, 'data-1'));
    const process = await startProcess(store, settingsIn(root));
    const based = /^relata_backup_base_seconds [1-9]/m;
    while (!based.test((await process.call('GET', '/metrics')).text)) await delay(50);
    return new StandbyCluster(root, random, { store, process });
  }

  pick(): ServiceProcess {
    return this.writer.process;
  }

  pickReader() {
    const { standby, random } = this;
    if (standby === undefined || random() < 0.5) return { process: this.pick(), behindMs: 0 };
    return { process: standby.process, behindMs: BEHIND_MS };
  }

  listFaults() {
    return [() => this.kill(), () => this.pause(500 + this.random() * 2_000)];
  }

  private async kill(): Promise<void> {
    const { writer } = this;
    await writer.process.kill();
    writer.process = await startProcess(writer.store, this.settings);
    this.counts.kills += 1;
  }

  private async pause(ms: number): Promise<void> {
    const { process } = this.writer;
    process.pause();
    await delay(ms);
    process.continue();
    this.counts.pauses += 1;
  }

  async prepareFailover(): Promise<void> {
    this.made += 1;
    const store = embeddedStoreAt(join(this.root, `data-${this.made}`));
    this.standby = {
      store,
      process: await startProgram({ store, standby: this.settings.RELATA_BACKUP_URL ?? '' }),
    };
  }

  /** In turn, the primary hands over, or is killed and loses its directory. */
  async failOver(): Promise<number | undefined> {
    const { writer, standby } = this;
    if (standby === undefined) return undefined;
    this.standby = undefined;
    const isLost = this.counts.handovers > this.counts.losses;
    const lostSince = isLost ? performance.now() - LOST_MS : undefined;
    if (isLost) await writer.process.kill();
    const { dataDir } = standby.store;
    const { code, output } = await runRelataWith({}, dataDir, 'promote', '--data-dir', dataDir);
    if (code !== 0) throw new Error(output);
    this.writer = standby;
    this.counts[isLost ? 'losses' : 'handovers'] += 1;
    if (!isLost) await writer.process.kill();
    await rm(writer.store.dataDir, { recursive: true });
    return lostSince;
  }

  async complete(): Promise<void> {}

  async stop(): Promise<void> {
    for (const member of [this.writer, this.standby]) {
      member?.process.continue();
      await member?.process.kill();
    }
    await rm(this.root, { recursive: true, force: true });
  }
}

const settingsIn = (root: string) => ({ RELATA_BACKUP_URL: pathToFileURL(join(root, 'target')).href });
