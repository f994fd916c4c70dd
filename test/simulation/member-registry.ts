/**
 * The registry of a process that has a control plane: its changes by operators and applications, brought to the other
 * members and to the log, in the order of the real control plane. Left out are files that are imported, which a thread
 * does, and the audit log.
 */
import { assert } from '../../src/lib/assert.ts';
import { Provisioner } from '../../src/core/devices/provision-devices.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import type { Member } from '../../src/server/membership/membership.ts';
import { noticesWaitingMax } from '../../src/storage/lmdb/store-limits.ts';
import { NoticeTeller } from '../../src/storage/registry/notice-teller.ts';
import type { RegistryTables } from '../../src/storage/registry/registry-tables.ts';
import { generateSecret, RegistryWriter } from '../../src/storage/registry/registry-write.ts';

export interface MemberRegistryDeps {
  readonly member: Member;
  readonly tables: RegistryTables;
  /** Ends the calls that may not go on. */
  readonly reviewCalls: () => void;
  /** They may be others, or be for others. */
  readonly reviewWebhooks: () => void;
}

export class MemberRegistry {
  readonly writer: RegistryWriter;
  readonly provisioner: Provisioner;
  readonly tables: RegistryTables;
  readonly #teller: NoticeTeller;
  readonly #context: ServerContext;
  readonly #reviewCalls: () => void;
  readonly #reviewWebhooks: () => void;

  constructor(context: ServerContext, { member, tables, reviewCalls, reviewWebhooks }: MemberRegistryDeps) {
    const { clock, log, registry, records } = context;
    const { notices } = tables;
    assert(notices !== null, 'a store that is written has notices');
    this.tables = tables;
    this.#context = context;
    this.#reviewCalls = reviewCalls;
    this.#reviewWebhooks = reviewWebhooks;
    this.#teller = new NoticeTeller({ clock, log, notices, events: records.registryEvents });
    const written = (): void => {
      member.registryWritten();
      this.#teller.poke();
    };
    this.writer = new RegistryWriter(tables, registry, written, clock);
    this.provisioner = new Provisioner({
      ...context,
      devices: this.writer,
      audit: { record: (_intent, act) => act() },
      makeSecret: generateSecret,
      isBehind: () => notices.length > noticesWaitingMax,
      changed: () => this.changed(),
    });
  }

  /** Behind `prepare` of the member. */
  start(): Promise<void> {
    return this.#teller.start();
  }

  /** Another node has changed it, and that is here. */
  registryApplied(): void {
    this.#reviewWebhooks();
    this.#review();
  }

  /** A product, an application or a webhook was changed here. */
  entryChanged(): void {
    this.#reviewWebhooks();
    this.changed();
  }

  /** After every change that was made here. */
  changed(): void {
    this.#review();
    this.#context.peers.notify('everybody', { kind: 'registry-changed' });
  }

  stop(): Promise<void> {
    return this.#teller.stop();
  }

  #review(): void {
    this.#context.deviceReview.begin();
    this.#reviewCalls();
  }
}
