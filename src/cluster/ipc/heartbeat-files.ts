/**
 * When sessions were last heard of, for the other processes of the machine: each member writes a file in the directory that only
 * they can enter, once a second and in one go, and reads those of the others. It is memory that they have in common rather
 * than a record: what survives a crash is in the rows (heartbeat-saver.ts). Source: cluster.md, Record.
 *
 * A file has a head and two tables in turn: the one that the head tells of is whole, and stays so for a second.
 */
import { closeSync, openSync, readSync, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { wallSeconds, type Cancel, type Clock } from '../../lib/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Log } from '../../lib/log.ts';
import type { SharedHeartbeats } from '../../core/ports/session-locator.ts';
import { connectionKinds, type MemberId } from '../../model/cluster.ts';
import type { SessionId } from '../../model/ids.ts';
import { processesMax } from '../../model/limits.ts';
import { HeartbeatTable } from './heartbeat-table.ts';

/** Round, offset of its table in bytes, its length in words, and nothing. */
const headWords = 4;
const headBytes = headWords * Uint32Array.BYTES_PER_ELEMENT;

const writeEveryMs = 1000;
const writeBytes = promisify(write);

/** One name for all lives of a process: a session's heartbeat is found by the session. */
function pathOf(directory: string, member: MemberId): string {
  const number = /\/(\d+)@[^@]*$/u.exec(member)?.[1] ?? '';
  return join(directory, `${number}.heartbeats`);
}

/** This member's, as it writes it. */
export class HeartbeatFile {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #file: number;
  readonly #head = new Uint32Array(headWords);
  #table = new HeartbeatTable();
  /** Null: nothing is being written. */
  #writing: Promise<void> | null = null;
  /** Unix seconds: what came before is in the table. */
  #sinceS = 0;
  #isTroubled = false;
  #stop: Cancel = () => undefined;

  /** Throws when it cannot be made. */
  constructor(
    directory: string,
    self: MemberId,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#file = openSync(pathOf(directory, self), 'w', 0o600);
  }

  /** Writes those of the devices' connections from now on. */
  start(devices: Pick<DeviceDirectory, 'actors'>): void {
    this.#stop = this.#clock.every(writeEveryMs, () => void this.write(devices));
  }

  /** All that the devices' connections have heard. Never rejects; while the one before is being written this one is left out. */
  async write(devices: Pick<DeviceDirectory, 'actors'>): Promise<void> {
    if (this.#writing !== null) return;
    const nowS = wallSeconds(this.#clock);
    if (!this.#fill(devices, this.#sinceS)) this.#fillAnew(devices);
    this.#sinceS = nowS;
    this.#writing = this.#put(this.#table.words);
    try {
      await this.#writing;
      this.#isTroubled = false;
    } catch (error) {
      if (!this.#isTroubled) this.#log.warn({ err: error }, 'heartbeats cannot be written down; tried on');
      this.#isTroubled = true;
    } finally {
      this.#writing = null;
    }
  }

  /** Behind what is being written: the number of a file that is closed may be another's. */
  async close(): Promise<void> {
    this.#stop();
    await this.#writing?.catch(() => undefined);
    closeSync(this.#file);
  }

  /** Without those that are over, for whom nobody asks. */
  #fillAnew(devices: Pick<DeviceDirectory, 'actors'>): void {
    this.#table.clear();
    while (!this.#fill(devices, 0) || this.#table.isCrowded) this.#table = this.#table.larger();
  }

  /** Those that were heard since. False: there is no room for all. */
  #fill(devices: Pick<DeviceDirectory, 'actors'>, sinceS: number): boolean {
    for (const actor of devices.actors())
      for (const kind of connectionKinds) {
        const heartbeatAt = actor.heartbeatAt(kind);
        if (heartbeatAt === 0 || heartbeatAt < sinceS) continue;
        const session = actor.session(kind);
        if (session !== null && !this.#table.put(session, heartbeatAt)) return false;
      }
    return true;
  }

  async #put(words: Uint32Array): Promise<void> {
    const [round = 0, offset = 0, length = 0] = this.#head;
    // Before the table that is told of, or behind it.
    const isBefore = headBytes + words.byteLength <= offset;
    const next = isBefore ? headBytes : Math.max(headBytes, offset + length * words.BYTES_PER_ELEMENT);
    await writeBytes(this.#file, words, 0, words.byteLength, next);
    this.#head.set([round + 1, next, words.length]);
    await writeBytes(this.#file, this.#head, 0, headBytes, 0);
  }
}

/** Those of the other members. */
export class HeartbeatFiles implements SharedHeartbeats {
  readonly #directory: string;
  readonly #self: MemberId;
  readonly #files = new Map<MemberId, OpenFile>();
  /** Counts them: in each a file is looked at once. */
  #turn = 0;

  constructor(directory: string, self: MemberId) {
    this.#directory = directory;
    this.#self = self;
  }

  refresh(): void {
    this.#turn += 1;
  }

  heartbeatOf(member: MemberId, session: SessionId): number {
    return member === this.#self ? 0 : this.#fileOf(member).tableIn(this.#turn).find(session);
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #fileOf(member: MemberId): OpenFile {
    const known = this.#files.get(member);
    if (known !== undefined) return known;
    // Of those, most live no more.
    if (this.#files.size >= processesMax) this.close();
    const file = new OpenFile(pathOf(this.#directory, member));
    this.#files.set(member, file);
    return file;
  }
}

/** The table is read anew when its member has written another one. One that cannot be read is empty. */
class OpenFile {
  readonly #path: string;
  /** Null: it was not there. */
  #file: number | null = null;
  readonly #head = new Uint32Array(headWords);
  #round = 0;
  #turn = -1;
  #table = new HeartbeatTable();

  constructor(path: string) {
    this.#path = path;
  }

  tableIn(turn: number): HeartbeatTable {
    if (this.#turn !== turn) this.#read();
    this.#turn = turn;
    return this.#table;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #read(): void {
    try {
      this.#file ??= openSync(this.#path, 'r');
      if (readSync(this.#file, this.#head, 0, headBytes, 0) !== headBytes) return this.#forget();
      const [round = 0, offset = 0, length = 0] = this.#head;
      if (round === this.#round) return;
      const words = length === this.#table.words.length ? this.#table.words : new Uint32Array(length);
      if (readSync(this.#file, words, 0, words.byteLength, offset) !== words.byteLength)
        return this.#forget();
      this.#round = round;
      if (words !== this.#table.words) this.#table = new HeartbeatTable(words);
    } catch {
      this.#forget();
    }
  }

  #forget(): void {
    this.#round = 0;
    this.#table = new HeartbeatTable();
  }
}
