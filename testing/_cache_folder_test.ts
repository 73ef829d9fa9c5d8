import assert from "node:assert/strict";
import { cacheCandidates, type CachePlace } from "./_cache_folder.ts";

const place: CachePlace = {
  platform: "linux",
  environment: {},
  homeFolder: "/home/ada",
  temporaryFolder: "/tmp",
  user: "1000",
};
const pathsOf = (changes: Partial<CachePlace>) =>
  cacheCandidates({ ...place, ...changes }).map(({ path }) => path);

Deno.test("cacheCandidates() follows the platform's custom", () => {
  assert.deepEqual(pathsOf({}), ["/home/ada/.cache/trellis-jobs", "/tmp/trellis-jobs-1000"]);
  assert.equal(pathsOf({ platform: "darwin" })[0], "/home/ada/Library/Caches/trellis-jobs");
  assert.equal(pathsOf({ environment: { XDG_CACHE_HOME: "/c" } })[0], "/c/trellis-jobs");
  assert.equal(
    pathsOf({ platform: "win32", environment: { LOCALAPPDATA: "C:\\Users\\ada\\Local" } })[0],
    "C:\\Users\\ada\\Local\\trellis-jobs",
  );
});

Deno.test("cacheCandidates() uses TRELLIS_CACHE and nothing else when it is set", () => {
  assert.deepEqual(pathsOf({ environment: { TRELLIS_CACHE: "/cache", XDG_CACHE_HOME: "/c" } }), [
    "/cache",
  ]);
});

Deno.test("cacheCandidates() falls back to the temporary folder without a home", () => {
  assert.deepEqual(pathsOf({ homeFolder: undefined }), ["/tmp/trellis-jobs-1000"]);
});
