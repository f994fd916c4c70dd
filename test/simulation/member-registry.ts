/**
 * The registry of a process that has a control plane: its changes by operators and applications, brought to the other
 * members and to the log, in the order of the real control plane. Left out are files that are imported, which a thread
 * does, and the audit log.
 */
import { RegistryWriting } from '../../src/server/bootstrap/registry-writing.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import type { Member } from '../../src/server/membership/membership.ts';
import type { RegistryTables } from '../../src/storage/registry/registry-tables.ts';

export interface MemberRegistryDeps {
  readonly member: Member;
  readonly tables: RegistryTables;
  /** Ends the calls that may not go on. */
  readonly reviewCalls: () => void;
  /** They may be others, or be for others. */
  readonly reviewWebhooks: () => void;
}

export class MemberRegistry {
  readonly writer: RegistryWriting['writer'];
  readonly provisioner: RegistryWriting['provisioner'];
  readonly tables: RegistryTables;
  readonly #writing: RegistryWriting;
  readonly #context: ServerContext;
  readonly #reviewCalls: () => void;
  readonly #reviewWebhooks: () => void;

  constructor(context: ServerContext, { member, tables, reviewCalls, reviewWebhooks }: MemberRegistryDeps) {
    this.tables = tables;
    this.#context = context;
    this.#reviewCalls = reviewCalls;
    this.#reviewWebhooks = reviewWebhooks;
    this.#writing = new RegistryWriting(context, {
      member,
      tables,
      audit: { record: (_intent, act) => act() },
      changed: () => this.changed(),
    });
    this.writer = this.#writing.writer;
    this.provisioner = this.#writing.provisioner;
  }

  /** Behind `prepare` of the member. */
  start(): Promise<void> {
    return this.#writing.start();
  }

  /** A product, an application or a webhook was changed here, or another node's change is here. */
  registryApplied(): void {
    this.#reviewWebhooks();
    this.changed();
  }

  /** After every change that was made here. */
  changed(): void {
    this.#context.deviceReview.begin();
    this.#reviewCalls();
  }

  stop(): Promise<void> {
    return this.#writing.stop();
  }
}
