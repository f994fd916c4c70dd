import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import { MapFullError } from '../../../../src/storage/lmdb/map-room.ts';
import {
  adviceBehind,
  adviceOf,
  explainFault,
  faultOf,
  isDamage,
  isDiskFault,
  StorePanicError,
} from '../../../../src/storage/lmdb/store-fault.ts';

const coded = (code: string | number): Error => Object.assign(new Error('said'), { code });
const { errno } = constants;

test('codes of the file system and of LMDB map to a fault with advice', () => {
  for (const [error, fault, advice] of [
    [coded('ENOSPC'), 'full', /make room/],
    [coded(errno.ENOSPC), 'full', /make room/],
    [coded(errno.EDQUOT), 'full', /quota/],
    [coded(errno.EFBIG), 'file-size', /LimitFSIZE/],
    [coded('EROFS'), 'read-only', /mount it writable/],
    [coded(errno.EROFS), 'read-only', /mount it writable/],
    [coded(errno.EIO), 'disk', /is full \(df\), or fails/],
    [coded('EACCES'), 'denied', /owner/],
    [new MapFullError('full'), 'map', /LimitAS/],
    [coded(-30_797), 'damaged', /reveille restore/],
    [new StorePanicError('state.mdb'), 'panic', /reveille upgrade/],
    [new Error('said'), 'other', /reveille doctor/],
  ] as const) {
    assert.equal(faultOf(error), fault);
    assert.match(adviceOf(error), advice);
  }
  assert.deepEqual([adviceBehind(coded('EISDIR')), adviceBehind(coded('EIO'))[0]], ['', ':']);
});

test('a disk fault can be probed, a damaged file and a full map cannot', () => {
  assert.deepEqual(
    [coded(errno.ENOSPC), coded(errno.EROFS), coded(-30_797), new MapFullError('full')].map(isDiskFault),
    [true, true, false, false],
  );
});

test('only a damaged page counts as damage, not a fault of the machine or an earlier failed read', () => {
  const garbled = new Error('Data read, but end of buffer not reached');
  assert.deepEqual(
    [garbled, coded(-30_796), coded(errno.ENOMEM), coded(errno.EMFILE), coded(-30_782), coded(-30_795)].map(
      isDamage,
    ),
    [true, true, false, false, false, false],
  );
});

test('an operator receives the cause reported by the system, LMDB or the cluster with advice, and no details of other errors', () => {
  const system = (code: string): Error => Object.assign(coded(code), { syscall: 'open' });
  for (const [error, sentence] of [
    [system('ENOSPC'), /^said: make room/],
    [coded(errno.ENOSPC), /^said: make room/],
    [system('EMFILE'), /^said: raise the limit of open files \(LimitNOFILE/],
    [coded(errno.EMFILE), /^said: raise the limit of open files \(LimitNOFILE/],
    [coded(errno.ENOMEM), /^said: give the machine more memory/],
    [system('EACCES'), /^said: run as the owner/],
    [system('ENOTDIR'), /^said: reveille doctor checks/],
    [coded(-30_790), /^said: reveille doctor checks/],
    [coded(-30_797), /^said: stop the server and restore/],
    [coded('ERR_DLOPEN_FAILED'), /^said: npm ci repairs it; reveille doctor/],
    [new MapFullError('the map is full'), /^the map is full: raise the limit of the address space/],
    [new StoreOpenError('ops-tokens.json: is no JSON'), /^ops-tokens\.json: is no JSON$/],
    [new SharedStateUnavailable('NATS is away'), /^NATS is away: reveille doctor checks the NATS/],
    [new Error('wrapped', { cause: system('ENOSPC') }), /^said: make room/],
  ] as const)
    assert.match(explainFault(error), sentence);
  for (const secret of [new Error('the secret is xyzzy'), 'xyzzy', null, coded('ERR_XYZZY')])
    assert.match(explainFault(secret), /^internal error: see the log of the server; reveille doctor/);
});
