/** What one commit of other nodes' changes did to this node's registry, for those who keep something of it elsewhere. */
import type { AccessKeyId } from '../../model/ids.ts';
import type { KindName } from './registry-kinds.ts';

export class AppliedChanges {
  /** Entries that are other than before, or gone. */
  count = 0;
  /** Credentials that are other than before, or gone: keys derived from them are to be dropped. */
  readonly credentials: AccessKeyId[] = [];

  note(kind: KindName, id: string): void {
    this.count += 1;
    if (kind === 'credential') this.credentials.push(id as AccessKeyId);
  }
}
