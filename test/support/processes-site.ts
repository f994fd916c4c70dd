/** Several processes of one node that write one store, each with an environment of its own. */
import { join } from 'node:path';
import type { MemberId } from '../../src/model/cluster.ts';
import type { SlotLost } from '../../src/core/ports/session-locator.ts';
import { openRecords, type Records } from '../../src/server/bootstrap/records.ts';
import { SharedRecords } from '../../src/storage/journal/shared-records.ts';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';
import { recordsDeps, recordsSettings, SiteMember, type RecordsSite } from './records-site.ts';
import { closedAfter, lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';

const node = 'node-1';

interface OneOfThem {
  readonly store: Store;
  readonly records: Records;
  readonly member: SiteMember;
}

export class ProcessesSite implements RecordsSite {
  readonly processes: readonly OneOfThem[];
  readonly #lost = new Set<SiteMember>();

  constructor(t: Ending, count: number) {
    const ending = lastFirst(t);
    const directory = join(temporaryDirectory(ending), 'data');
    const stores = Array.from({ length: count }, () =>
      closedAfter(ending, openStore(directory, { lock: 'held' })),
    );
    this.processes = stores.map((store, number) => this.#open(ending, store, number));
  }

  get members(): readonly SiteMember[] {
    return this.processes.map(({ member }) => member);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#living.map(({ records }) => records.allCommitted()));
    for (const { records } of this.#living) records.events.refresh();
  }

  /** They are committed like anything else. */
  heard(): Promise<void> {
    return this.settled();
  }

  async lose(lost: SiteMember): Promise<void> {
    this.#lost.add(lost);
    const isGone = (member: MemberId): boolean => member === lost.id;
    await Promise.all(this.#living.map(({ records }) => records.closeSessionsOf(isGone)));
    await this.settled();
  }

  get #living(): readonly OneOfThem[] {
    return this.processes.filter(({ member }) => !this.#lost.has(member));
  }

  #open(ending: Ending, store: Store, number: number): OneOfThem {
    const id = `${node}/${number}@1` as MemberId;
    const shared = new SharedRecords(store.state, { member: id, node, grew: () => undefined });
    const records = openRecords(store.state, recordsSettings, recordsDeps(shared, number === 0));
    ending.after(() => records.close());
    const supersede = (member: MemberId, slot: SlotLost): void => this.#supersede(member, slot);
    const member = new SiteMember({ id, node }, { ...records, supersede });
    shared.follow(member);
    return { store, records, member };
  }

  #supersede(member: MemberId, slot: SlotLost): void {
    this.#living.find((one) => one.member.id === member)?.member.lost(slot);
  }
}
