/** The tables and rows of the webhooks’ deliveries: a hook’s cursor and its failed and parked events. Source: events.md, Webhooks. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Environment, type EnvironmentMode, type Table } from '../lmdb/environment.ts';
import type {
  DeliveryFailure,
  FailedEvent,
  HookRecord,
  ParkedEvent,
} from '../../core/ports/delivery-store.ts';
import { decodeEvent, encodeEvent, eventKey, sequenceOf, type EventRow } from '../events/event-rows.ts';

type FailureRow = readonly [atMs: number, status: number | null, reason: string];

/** Add at the end only. */
export type HookRow = readonly [
  number: number,
  cursor: number,
  parked: number,
  switchedOff: readonly [atMs: number, secretSha256: string] | null,
  lastSuccessAtMs: number | null,
  lastFailure: FailureRow | null,
];

/** The event is a copy of the log's. Add at the end only. */
export type FailedRow = readonly [attempts: number, dueAtMs: number, event: EventRow];
export type ParkedRow = readonly [failure: FailureRow, event: EventRow];

/** Of the hook's number, in a key. */
const numberBytes = 4;

/** Hook by hook, and each hook's in the order of the log. */
export function keptKey(number: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(numberBytes);
  key.writeUInt32BE(number, 0);
  return Buffer.concat([key, eventKey(sequence)]);
}

export function numberOf(key: Buffer): number {
  return key.readUInt32BE(0);
}

export function keptSequence(key: Buffer): number {
  return sequenceOf(key.subarray(numberBytes));
}

export function encodeHook(record: HookRecord): HookRow {
  const { number, cursor, parked, switchedOff, lastSuccessAtMs, lastFailure } = record;
  const off = switchedOff && ([switchedOff.atMs, switchedOff.secretSha256] as const);
  return [number, cursor, parked, off, lastSuccessAtMs, lastFailure && encodeFailure(lastFailure)];
}

export function decodeHook([number, cursor, parked, off, lastSuccessAtMs, lastFailure]: HookRow): HookRecord {
  const switchedOff = off && { atMs: off[0], secretSha256: off[1] };
  return {
    number,
    cursor,
    parked,
    switchedOff,
    lastSuccessAtMs,
    lastFailure: lastFailure && decodeFailure(lastFailure),
  };
}

export function encodeFailed({ attempts, dueAtMs, event }: FailedEvent): FailedRow {
  return [attempts, dueAtMs, encodeEvent(event)];
}

export function decodeFailed(sequence: number, [attempts, dueAtMs, event]: FailedRow): FailedEvent {
  return { attempts, dueAtMs, event: decodeEvent(sequence, event) };
}

export function encodeParked({ failure, event }: ParkedEvent): ParkedRow {
  return [encodeFailure(failure), encodeEvent(event)];
}

export function decodeParked(sequence: number, [failure, event]: ParkedRow): ParkedEvent {
  return { failure: decodeFailure(failure), event: decodeEvent(sequence, event) };
}

function encodeFailure({ atMs, status, reason }: DeliveryFailure): FailureRow {
  return [atMs, status, reason];
}

function decodeFailure([atMs, status, reason]: FailureRow): DeliveryFailure {
  return { atMs, status, reason };
}

export const webhooksFileName = 'webhooks.mdb';

export class WebhookTables {
  readonly environment: Environment;
  /** By the hook's id. */
  readonly hooks: Table<HookRow>;
  /** By the hook's number and the event's sequence. */
  readonly failed: Table<FailedRow>;
  readonly parked: Table<ParkedRow>;

  constructor(directory: string, mode: EnvironmentMode) {
    this.environment = new Environment(join(directory, webhooksFileName), mode);
    this.hooks = this.environment.table('hooks');
    this.failed = this.environment.table('failed');
    this.parked = this.environment.table('parked');
  }
}

/** False: no server with webhooks ever ran on this directory. */
export function hasWebhookTables(directory: string): boolean {
  return existsSync(join(directory, webhooksFileName));
}
