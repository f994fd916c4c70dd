/**
 * The writing of the registry in a process that has a control plane, for operators and applications: entries are put in their
 * order, the other members hear of each, and the log gets its event. Source: cluster.md, Registry.
 */
import { assert } from '../../lib/assert.ts';
import { Provisioner, type ProvisionerDeps } from '../../core/devices/provision-devices.ts';
import { noticesWaitingMax } from '../../storage/lmdb/store-limits.ts';
import { NoticePublisher } from '../../storage/registry/notice-publisher.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { generateSecret, RegistryWriter } from '../../storage/registry/registry-write.ts';
import type { Member } from '../membership/membership.ts';
import type { ServerContext } from './server-context.ts';

export interface RegistryWritingDeps {
  readonly member: Pick<Member, 'registryWritten'>;
  readonly tables: RegistryTables;
  readonly audit: ProvisionerDeps['audit'];
  /** After every change that an application has made. */
  readonly changed: () => void;
}

export class RegistryWriting {
  readonly writer: RegistryWriter;
  /** Carries out what applications ask for their devices. */
  readonly provisioner: Provisioner;
  readonly #notices: NoticePublisher;

  constructor(context: ServerContext, { member, tables, audit, changed }: RegistryWritingDeps) {
    const { clock, log, registry, records } = context;
    const { notices } = tables;
    assert(notices !== null, 'a store that is written has notices');
    this.#notices = new NoticePublisher({ clock, log, notices, events: records.registryEvents });
    const written = (): void => {
      member.registryWritten();
      this.#notices.poke();
    };
    this.writer = new RegistryWriter(tables, registry, written, clock);
    this.provisioner = new Provisioner({
      ...context,
      devices: this.writer,
      audit,
      makeSecret: generateSecret,
      devicesMax: context.settings.limits.devices_max,
      isBehind: () => notices.length > noticesWaitingMax,
      changed,
    });
  }

  /** Tells the log what was not told yet, and what is written from now on. Behind `prepare` of the member. */
  start(): Promise<void> {
    return this.#notices.start();
  }

  stop(): Promise<void> {
    return this.#notices.stop();
  }
}
