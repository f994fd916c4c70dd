import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { MapFullError } from '../../../../src/storage/lmdb/map-room.ts';
import {
  adviceBehind,
  adviceOf,
  faultOf,
  isDamage,
  isDiskFault,
  StorePanicError,
} from '../../../../src/storage/lmdb/store-fault.ts';

const coded = (code: string | number): Error => Object.assign(new Error('said'), { code });
const { errno } = constants;

test('a fault is known by the code of the file system as by that of LMDB, and says what to do', () => {
  for (const [error, fault, advice] of [
    [coded('ENOSPC'), 'full', /make room/],
    [coded(errno.ENOSPC), 'full', /make room/],
    [coded(errno.EDQUOT), 'full', /quota/],
    [coded(errno.EFBIG), 'file-size', /LimitFSIZE/],
    [coded('EROFS'), 'read-only', /mount it for writing/],
    [coded(errno.EROFS), 'read-only', /mount it for writing/],
    [coded(errno.EIO), 'disk', /disk fails/],
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

test('a disk can be asked whether it takes writes again, a damaged file and a map cannot', () => {
  assert.deepEqual(
    [coded(errno.ENOSPC), coded(errno.EROFS), coded(-30_797), new MapFullError('full')].map(isDiskFault),
    [true, true, false, false],
  );
});

test('a read is damaged by what it finds, not by a machine that is in its way or a read before it', () => {
  const garbled = new Error('Data read, but end of buffer not reached');
  assert.deepEqual(
    [garbled, coded(-30_796), coded(errno.ENOMEM), coded(errno.EMFILE), coded(-30_782), coded(-30_795)].map(
      isDamage,
    ),
    [true, true, false, false, false, false],
  );
});
