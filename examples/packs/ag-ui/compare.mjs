// What the official client says of each broken sequence, a line of JSON each: verifyEvents of @ag-ui/client (the order
// of events), and the schemas of @ag-ui/core (each event by itself). An empty text is no complaint. The right
// sequences come first, under their own names.
import { verifyEvents } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import { from, lastValueFrom } from "rxjs";
import { faults, plays, sequenceOf } from "./sequences.mjs";

for (const fault of [...plays.map((play) => ({ name: play, play, patch: [] })), ...faults]) {
  const events = sequenceOf(fault.play, fault, { thread: "t", run: "r" }).filter((e) => e !== "$wait");
  const order = await lastValueFrom(from(events).pipe(verifyEvents(false))).then(() => "", (e) => e.message);
  const unfit = events.map((e) => EventSchemas.safeParse(e)).find((r) => !r.success);
  console.log(JSON.stringify({ name: fault.name, order, form: unfit ? unfit.error.issues[0].message : "" }));
}
