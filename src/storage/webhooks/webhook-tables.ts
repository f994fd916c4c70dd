/**
 * `webhooks.mdb`: what the thread of the webhooks keeps. A file of its own, because a file has one writer at a time:
 * neither records nor imports wait for a receiver's book-keeping.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Environment, type EnvironmentMode, type Table } from '../lmdb/environment.ts';
import type { FailedRow, HookRow, ParkedRow } from './webhook-rows.ts';

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
