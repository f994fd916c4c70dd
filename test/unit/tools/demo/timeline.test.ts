import assert from 'node:assert/strict';
import { test } from 'node:test';
import { credentialLines, showCredentials } from '../../../../src/tools/demo/timeline.ts';

const credentials = {
  peer_id: 'whips://msgvoip?x_msg_app_id=wx&x_msg_model_id=m&x_msg_room_id=r%261&x_device_id=D&x_session=s-1',
  token: 'eyJhbGciOiJIUzI1NiJ9.planted-claims.planted-mac',
};

test('the story shows which session credentials are for, and not what lets a device in', () => {
  const shown = {
    peer_id: 'whips://msgvoip?…&x_session=s-1',
    token: 'eyJhbGci…',
  };
  assert.deepEqual(showCredentials(credentials), shown);
  const media_url = 'ws://media.example:8083';
  assert.deepEqual(credentialLines({ ...credentials, media_url }), [
    `  peer_id    ${shown.peer_id}`,
    `  token      ${shown.token}`,
    `  media_url  ${media_url}`,
  ]);
});
