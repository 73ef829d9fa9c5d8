/** A projector as a process of its own that dies in the middle of its work. */

import { connectNats } from "../nats/mod.ts";
import { type ProjectionStore, startProjector } from "../projection/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";

const [url = "", path = "", batch = "", lifeMs = ""] = Deno.args;
const parent = Deno.ppid;

/** Kills this process from a thread of its own: SQLite may be in the middle of anything. */
const killer = new Worker(new URL("./projection_killer.ts", import.meta.url), { type: "module" });
let armed = false;
function armedBy(store: ProjectionStore): ProjectionStore {
  return {
    ...store,
    commit(change) {
      if (!armed && lifeMs !== "") killer.postMessage(Number(lifeMs));
      armed = true;
      return store.commit(change);
    },
  };
}

const connection = await connectNats({ servers: url });
const store = armedBy(openSqliteStore({ path }));
startProjector({ connection, store, batch: Number(batch) });
setInterval(() => {
  if (Deno.ppid !== parent) Deno.exit(1);
}, 500);
