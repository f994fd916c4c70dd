/**
 * The registry of a process with a control plane: changes by operators and applications, published to the other members and
 * the log, in the order of the real control plane. Imports of files, which run in a thread, and the audit log are omitted.
 */
import { registryWriting, type RegistryWriting } from '../../src/server/bootstrap/registry-writing.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import type { Member } from '../../src/server/membership/membership.ts';
import type { RegistryTables } from '../../src/storage/registry/registry-tables.ts';

export interface MemberRegistryDeps {
  readonly member: Member;
  readonly tables: RegistryTables;
  /** Ends calls that the registry no longer permits. */
  readonly reviewCalls: () => void;
  /** Reloads webhooks after a change of them or of their products. */
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
    this.#writing = registryWriting(context, {
      member,
      tables,
      audit: { record: (_intent, act) => act() },
      changed: () => this.changed(),
    });
    this.writer = this.#writing.writer;
    this.provisioner = this.#writing.provisioner;
  }

  /** Call after the member's `prepare`. */
  start(): Promise<void> {
    return this.#writing.notices.start();
  }

  /** A product, application or webhook was changed here, or a change by another node was applied. */
  registryApplied(): void {
    this.#reviewWebhooks();
    this.changed();
  }

  /** Call after every local change. */
  changed(): void {
    this.#context.deviceReview.begin();
    this.#reviewCalls();
  }

  stop(): Promise<void> {
    return this.#writing.notices.stop();
  }
}
