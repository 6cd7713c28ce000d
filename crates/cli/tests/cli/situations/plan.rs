use super::prints;

const PATH: &str = "plans/p/plan.md";
const OPEN: &str = "# R\n\n<!-- CHECKPOINT: phase-1 -->\n- [ ] M <!-- TASK: one -->\n- [ ] L <!-- ACCEPT: good -->\n\n\
                    <!-- CHECKPOINT: phase-2 -->\n- [ ] F <!-- TASK: two -->\n- [ ] Seen <!-- ACCEPT: seen -->\n";

#[test]
fn hints_of_a_plan_lead_on() {
    let first_done = OPEN.replacen("[ ]", "[x]", 2);
    let all_done = OPEN.replace("[ ]", "[x]");
    let task_done = OPEN.replacen("[ ]", "[x]", 1);
    let unmarked = "# P\n\n- [ ] One\n- [ ] Two\n".to_owned();
    let half_marked = format!("{OPEN}- [ ] Later\n");
    let left_over = format!("{all_done}- [ ] Later\n");
    for (text, line, hint) in [
        (&task_done, "resume plan:p", "piton gate plan:p pass good"),
        (&left_over, "resume plan:p", "give ids: piton plan mark plan:p"),
        (&left_over, "finish plan:p", "give ids: piton plan mark plan:p"),
        (&left_over, "why plan:p", "a box without an id is open; give ids: piton plan mark plan:p"),
        (&unmarked, "resume plan:p", "give its checkboxes ids: piton plan mark plan:p"),
        (&OPEN.to_owned(), "step plan:p done good", "it is an acceptance criterion: piton gate plan:p pass good"),
        (&OPEN.to_owned(), "gate plan:p pass nine", "see what there is: piton status plan:p"),
        (&half_marked, "gate plan:p pass nine", "give ids with: piton plan mark plan:p"),
        (&first_done, "stage plan:p phase-1", "the current one: piton stage plan:p phase-2"),
        (&all_done, "stage plan:p phase-1", "nothing is left to do: piton finish plan:p"),
    ] {
        prints(&[(PATH, text)], line, hint);
    }
    let foreign = [(PATH, OPEN), ("plans/p/.checkpoint/state.json", "{\"a\": 1}\n")];
    prints(&foreign, "step plan:p done one", "see what it is: piton check plans/p/.checkpoint/state.json");
}
