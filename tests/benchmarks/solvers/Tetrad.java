import edu.cmu.tetrad.data.BoxDataSet;
import edu.cmu.tetrad.data.DataSet;
import edu.cmu.tetrad.data.DiscreteVariable;
import edu.cmu.tetrad.data.VerticalIntDataBox;
import edu.cmu.tetrad.graph.Edge;
import edu.cmu.tetrad.graph.Edges;
import edu.cmu.tetrad.graph.Graph;
import edu.cmu.tetrad.graph.Node;
import edu.cmu.tetrad.search.Boss;
import edu.cmu.tetrad.search.Fges;
import edu.cmu.tetrad.search.PermutationSearch;
import edu.cmu.tetrad.search.score.BdeuScore;
import edu.cmu.tetrad.search.score.DiscreteBicScore;
import edu.cmu.tetrad.search.score.Score;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One search of Tetrad on one table of codes; prints a line "tail head" or "a - b" for each edge of the class.
 *
 * Arguments: boss or fges, bic or bdeu (sample size 10), the starts of BOSS, and a file: the numbers of states in its
 * first line, then the codes of each row. With score in place of the search it prints the score of the graph whose arcs
 * follow the file, each as "tail,head".
 */
public class Tetrad {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);                  // what Tetrad prints is no edge
        List<String> lines = Files.readAllLines(Path.of(args[3]));
        String[] cards = lines.get(0).split(" ");
        int[][] columns = new int[cards.length][lines.size() - 1];
        List<Node> variables = new ArrayList<>();
        for (int v = 0; v < cards.length; v++) {
            variables.add(new DiscreteVariable("v" + v, Integer.parseInt(cards[v])));
        }
        for (int row = 1; row < lines.size(); row++) {
            String[] codes = lines.get(row).split(" ");
            for (int v = 0; v < cards.length; v++) {
                columns[v][row - 1] = Integer.parseInt(codes[v]);
            }
        }
        DataSet data = new BoxDataSet(new VerticalIntDataBox(columns), variables);
        Score score = makeScore(data, args[1]);
        if (args[0].equals("score")) {
            out.println(scoreGraph(score, cards.length, args));
            out.flush();
            System.exit(0);
        }
        Graph graph = args[0].equals("boss") ? searchOrders(score, Integer.parseInt(args[2])) : searchClasses(score);
        for (Edge edge : graph.getEdges()) {
            boolean directed = Edges.isDirectedEdge(edge);
            String tail = (directed ? Edges.getDirectedEdgeTail(edge) : edge.getNode1()).getName().substring(1);
            String head = (directed ? Edges.getDirectedEdgeHead(edge) : edge.getNode2()).getName().substring(1);
            out.println(tail + (directed ? " " : " - ") + head);
        }
        out.flush();
        System.exit(0);
    }

    private static Score makeScore(DataSet data, String name) {
        if (name.equals("bic")) {
            DiscreteBicScore score = new DiscreteBicScore(data);
            score.setPenaltyDiscount(1);
            score.setStructurePrior(0);
            return score;
        }
        BdeuScore score = new BdeuScore(data);
        score.setSamplePrior(10);
        score.setStructurePrior(0);
        return score;
    }

    private static double scoreGraph(Score score, int n, String[] args) {
        double total = 0;
        for (int v = 0; v < n; v++) {
            List<Integer> parents = new ArrayList<>();
            for (int i = 4; i < args.length; i++) {
                String[] ends = args[i].split(",");
                if (Integer.parseInt(ends[1]) == v) {
                    parents.add(Integer.parseInt(ends[0]));
                }
            }
            total += score.localScore(v, parents.stream().mapToInt(Integer::intValue).toArray());
        }
        return total;
    }

    private static Graph searchOrders(Score score, int starts) throws InterruptedException {
        Boss boss = new Boss(score);
        boss.setUseBes(true);
        boss.setUseDataOrder(false);
        boss.setNumStarts(starts);
        boss.setNumThreads(1);
        boss.setVerbose(false);
        PermutationSearch search = new PermutationSearch(boss);
        search.setSeed(0);
        return search.search();
    }

    private static Graph searchClasses(Score score) throws InterruptedException {
        Fges fges = new Fges(score);
        fges.setFaithfulnessAssumed(false);
        fges.setSymmetricFirstStep(false);
        fges.setVerbose(false);
        return fges.search();
    }
}
