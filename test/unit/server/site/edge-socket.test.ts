import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { edgeSocketPath, mediaSocketPaths } from '../../../../src/server/site/edge-socket.ts';

const onWindows = process.platform === 'win32' && 'a named pipe has no directory';

test('edges reach their core in its data directory', { skip: onWindows }, () => {
  assert.equal(dirname(edgeSocketPath('/var/lib/reveille')), '/var/lib/reveille');
});

test(
  'the path of the socket is short even if that of the data directory is long',
  { skip: onWindows },
  () => {
    const path = edgeSocketPath(join('/', 'a'.repeat(100), 'data'));
    assert.ok(Buffer.byteLength(path) <= 100, path);
    assert.ok(path.startsWith(tmpdir()));
    assert.deepEqual(mediaSocketPaths(path, 2).map(dirname), [dirname(path), dirname(path)]);
  },
);
